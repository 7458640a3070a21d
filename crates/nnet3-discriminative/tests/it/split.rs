//! Cutting lattices: probabilities within chunks are those of the utterance.

use std::collections::BTreeMap;

use kaldi_fst::StateId;
use nnet3_decode::lattice::scale;
use nnet3_decode::posterior::{forward_backward, transition_posteriors};
use nnet3_decode::{Lattice, LatticeWeight, Scale};
use nnet3_discriminative::Supervision;
use nnet3_discriminative::split::{LatticeSplitter, SplitOptions};

use crate::{lattice, model};

const SCALE: f32 = 0.25;

/// Five frames; no two paths of a chunk have the same transition-ids.
fn utterance() -> Lattice {
    let arcs = [
        (0, 1, 1, 0.5, 4.0),
        (0, 2, 13, 0.25, 6.0),
        (1, 3, 1, 0.5, 2.0),
        (1, 4, 2, 0.1, 8.0),
        (2, 4, 14, 1.0, 1.0),
        (3, 5, 15, 0.3, 3.0),
        (4, 5, 19, 0.75, 1.0),
        (4, 6, 20, 0.1, 5.0),
        (5, 7, 40, 0.0, 2.0),
        (6, 7, 46, 0.0, 1.0),
        (6, 7, 47, 0.5, 2.0),
        (7, 8, 58, 0.2, 2.0),
        (7, 8, 1, 0.1, 0.0),
    ];
    Supervision::new(vec![1, 1, 15, 40, 58], lattice(&arcs, 8), 1.0).unwrap().lattice
}

fn options(determinize: bool, minimize: bool, collapse_transition_ids: bool) -> SplitOptions {
    SplitOptions { acoustic_scale: SCALE, determinize, minimize, collapse_transition_ids }
}

/// A lattice with scaled acoustic costs.
fn scaled(mut lattice: Lattice) -> Lattice {
    scale(&mut lattice, Scale::new(1.0, SCALE.into()));
    lattice
}

/// Probabilities of transition-ids, frame by frame.
fn posteriors(lattice: Lattice) -> Vec<BTreeMap<i32, f32>> {
    let frames = transition_posteriors(&mut scaled(lattice)).unwrap();
    frames.posterior.into_iter().map(|frame| frame.into_iter().collect()).collect()
}

#[test]
fn chunks_keep_probabilities() {
    let (model, utterance) = (model(), utterance());
    let expected = posteriors(utterance.clone());
    for (determinize, minimize, tolerance) in [(false, false, 1e-5), (true, false, 0.01), (true, true, 0.01)]
    {
        let options = options(determinize, minimize, false);
        let splitter = LatticeSplitter::new(&options, &model, utterance.clone()).unwrap();
        for range in [0..2, 1..4, 2..5, 4..5, 0..5] {
            let part = splitter.part(range.clone(), true).unwrap();
            let total = forward_backward(&scaled(part.clone())).unwrap().total;
            assert!(total.abs() < tolerance, "{range:?}: {total}");
            let found = posteriors(part);
            assert_eq!(found.len(), range.len());
            for (found, expected) in found.iter().zip(&expected[range.clone()]) {
                assert!(found.keys().eq(expected.keys()), "{range:?}: {found:?} {expected:?}");
                for (id, p) in found {
                    assert!(
                        (f64::from(p - expected[id])).abs() < tolerance,
                        "{range:?} {id}: {found:?} {expected:?}"
                    );
                }
            }
        }
    }
}

/// Without normalization all costs differ by those of the whole utterance.
#[test]
fn normalization() {
    let (model, utterance) = (model(), utterance());
    let options = options(false, false, false);
    let whole = forward_backward(&scaled(utterance.clone())).unwrap().total;
    let splitter = LatticeSplitter::new(&options, &model, utterance).unwrap();
    let part = splitter.part(1..3, false).unwrap();
    let total = forward_backward(&scaled(part)).unwrap().total;
    assert!((total - whole).abs() < 1e-5, "{total} {whole}");
}

/// The costs of the best path of each sequence of transition-ids.
fn paths(lattice: &Lattice) -> BTreeMap<Vec<i32>, f64> {
    fn go_on(
        lattice: &Lattice,
        state: StateId,
        ids: &mut Vec<i32>,
        cost: f64,
        out: &mut BTreeMap<Vec<i32>, f64>,
    ) {
        let data = lattice.state(state);
        if data.is_final() {
            let best = out.entry(ids.clone()).or_insert(f64::INFINITY);
            *best = best.min(cost + data.final_weight.cost());
        }
        for arc in &data.arcs {
            let length = ids.len();
            ids.extend(Some(arc.ilabel).filter(|&id| id != 0));
            go_on(lattice, arc.next, ids, cost + arc.weight.cost(), out);
            ids.truncate(length);
        }
    }
    let mut out = BTreeMap::new();
    go_on(lattice, lattice.start.unwrap(), &mut Vec::new(), 0.0, &mut out);
    out
}

/// The minimized lattice has the same paths and no more states, and one arc of a label from each state.
#[test]
fn minimized_lattices_have_the_same_paths() {
    let (model, utterance) = (model(), utterance());
    let states = |minimize, collapse| {
        let options = options(true, minimize, collapse);
        let splitter = LatticeSplitter::new(&options, &model, utterance.clone()).unwrap();
        splitter.part(0..5, true).unwrap()
    };
    let (small, large) = (states(true, false), states(false, false));
    assert!(small.states.len() <= large.states.len());
    let (found, expected) = (paths(&small), paths(&large));
    assert!(found.keys().eq(expected.keys()));
    for (ids, cost) in &found {
        assert!((cost - expected[ids]).abs() < 0.02, "{ids:?}: {cost} {}", expected[ids]);
    }
    for state in &small.states {
        let mut labels: Vec<i32> = state.arcs.iter().map(|arc| arc.ilabel).collect();
        labels.dedup();
        assert_eq!(labels.len(), state.arcs.len());
    }
}

/// In the first chunk, transition-ids of one pdf become one.
#[test]
fn collapsed_transition_ids() {
    let model = model();
    let pdf = |id: i32| model.pdf(model.transition_id(id).unwrap());
    let last = model.num_transition_ids() as i32;
    let (a, b) = (1..=last)
        .flat_map(|a| (a + 1..=last).map(move |b| (a, b)))
        .find(|&(a, b)| pdf(a) == pdf(b))
        .expect("two transition-ids of one pdf");
    let arcs = [(0, 1, a, 0.5, 0.0), (0, 1, b, 0.25, 0.0), (1, 2, a, 0.0, 0.0), (1, 2, b, 1.0, 0.0)];
    let supervision = Supervision::new(vec![a, a], lattice(&arcs, 2), 1.0).unwrap();
    let count = |collapse| {
        let options = options(true, true, collapse);
        let splitter = LatticeSplitter::new(&options, &model, supervision.lattice.clone()).unwrap();
        paths(&splitter.part(0..2, false).unwrap())
    };
    assert_eq!(count(false).len(), 4);
    let collapsed = count(true);
    let ids: Vec<&Vec<i32>> = collapsed.keys().collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert!(ids[0].iter().all(|&id| id == a || id == b));
}

#[test]
fn what_is_refused() {
    let (model, utterance) = (model(), utterance());
    let plain = options(true, true, true);
    let splitter = LatticeSplitter::new(&plain, &model, utterance.clone()).unwrap();
    for range in [3..6, 2..2] {
        let error = splitter.part(range, true).unwrap_err().to_string();
        assert!(error.contains("the lattice has 5 frames"), "{error}");
    }
    let error = |options: &SplitOptions, lattice: Lattice| {
        LatticeSplitter::new(options, &model, lattice).err().map(|e| e.to_string()).unwrap()
    };
    let zero = SplitOptions { acoustic_scale: 0.0, ..plain.clone() };
    assert!(error(&zero, utterance.clone()).contains("acoustic-scale=0"));
    let mut foreign = utterance;
    foreign.states[0].arcs[0].ilabel = 1_000_000;
    assert!(error(&plain, foreign).contains("the transition-id 1000000"));
    assert!(error(&plain, Lattice::default()).contains("empty"));
}

/// The lattice of an utterance may have words, states out of order and dead ends.
#[test]
fn lattices_of_utterances_are_put_in_order() {
    let mut arcs = vec![(2, 1, 13, 0.0, 0.0), (0, 2, 1, 0.0, 0.0), (0, 3, 2, 0.0, 0.0)];
    let supervision = Supervision::new(vec![1, 13], reordered(&arcs), 1.0).unwrap();
    assert_eq!(supervision.lattice.states.len(), 3, "the dead end is gone");
    let error = |arcs: &[(i32, i32, i32, f32, f32)], alignment: &[i32]| {
        Supervision::new(alignment.to_vec(), reordered(arcs), 1.0).unwrap_err().to_string()
    };
    let message = error(&arcs, &[1, 13, 13]);
    assert_eq!(message, "denominator lattice: it has 2 frames, but the alignment 3");
    assert!(error(&arcs, &[]).contains("the alignment has 0 frames"));
    assert!(error(&arcs[1..], &[1, 13]).contains("the lattice is empty"));
    assert!(error(&arcs, &[0, 13]).contains("the transition-id 0"));
    arcs.push((1, 2, 5, 0.0, 0.0));
    assert!(error(&arcs, &[1, 13]).contains("cycle"));
}

/// Four states, of which 1 is final.
fn reordered(arcs: &[(i32, i32, i32, f32, f32)]) -> Lattice {
    let mut out = lattice(arcs, 3);
    out.state_mut(1).final_weight = LatticeWeight::ONE;
    out.state_mut(3).final_weight = LatticeWeight::ZERO;
    out
}
