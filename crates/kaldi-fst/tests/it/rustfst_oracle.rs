//! Compares operations and files with the crate rustfst, an independent implementation, on random FSTs. Compared
//! are costs of strings, numbers of remaining states, and each implementation's reading of the other's files.

use std::collections::BTreeMap;

use kaldi_fst::{Arc, EPSILON, Fst, ops, store, text};
use kaldi_io::{KaldiReader, KaldiWriter};
use rustfst::algorithms::compose::compose;
use rustfst::algorithms::concat::concat;
use rustfst::algorithms::determinize::determinize;
use rustfst::algorithms::rm_epsilon::rm_epsilon;
use rustfst::algorithms::{ProjectType, connect, invert, isomorphic, minimize, project, reverse, top_sort};
use rustfst::prelude::{ILabelCompare, SerializableFst, TropicalWeight, VectorFst, tr_sort};

type Other = VectorFst<TropicalWeight>;

/// Our FST as one of rustfst, by way of a binary file that we write and rustfst reads.
fn there(fst: &Fst) -> Other {
    let mut w = KaldiWriter::in_memory(true);
    store::write_vector(&mut w, fst).unwrap();
    Other::load(&w.into_bytes()).unwrap()
}

/// An FST of rustfst as ours, by way of a binary file that rustfst writes and we read.
fn here(fst: &Other) -> Fst {
    let mut bytes = Vec::new();
    fst.store(&mut bytes).unwrap();
    let mut r = KaldiReader::from_bytes("rustfst", bytes);
    r.set_binary(true);
    store::read(&mut r).unwrap()
}

/// Pairs of input and output labels, to the least cost of any path with them.
pub type Language = BTreeMap<(Vec<i32>, Vec<i32>), f32>;

/// All pairs of label sequences that an acyclic FST accepts.
pub fn language(fst: &Fst) -> Language {
    fn visit(fst: &Fst, state: u32, labels: &(Vec<i32>, Vec<i32>), cost: f32, out: &mut Language) {
        let data = fst.state(state);
        if data.is_final() {
            let known = out.entry(labels.clone()).or_insert(f32::INFINITY);
            *known = known.min(cost + data.final_weight);
        }
        for arc in &data.arcs {
            let mut longer = labels.clone();
            longer.0.extend((arc.ilabel != EPSILON).then_some(arc.ilabel));
            longer.1.extend((arc.olabel != EPSILON).then_some(arc.olabel));
            visit(fst, arc.next, &longer, cost + arc.weight, out);
        }
    }
    let mut out = BTreeMap::new();
    if let Some(start) = fst.start {
        visit(fst, start, &(Vec::new(), Vec::new()), 0.0, &mut out);
    }
    out
}

#[track_caller]
pub fn assert_same(ours: &Fst, theirs: &Fst) {
    let (ours, theirs) = (language(ours), language(theirs));
    assert_eq!(ours.len(), theirs.len());
    for ((labels, cost), (other_labels, other_cost)) in ours.iter().zip(&theirs) {
        assert_eq!(labels, other_labels);
        assert!((cost - other_cost).abs() < 1e-4, "{labels:?} cost {cost} here and {other_cost} there");
    }
}

/// Acyclic, with up to seven states in topological order and weights that add up without rounding.
pub fn random(rng: &mut fastrand::Rng, epsilons: f64, transducer: bool) -> Fst {
    let states = rng.u32(1..8);
    let label = |rng: &mut fastrand::Rng| if rng.f64() < epsilons { EPSILON } else { rng.i32(1..4) };
    let mut fst = Fst { start: Some(0), ..Fst::default() };
    for s in 0..states {
        fst.add_state();
        for next in s + 1..states {
            while rng.f64() < 0.4 {
                let ilabel = label(rng);
                let olabel = if transducer { label(rng) } else { ilabel };
                let weight = rng.i32(0..12) as f32 / 4.0;
                fst.state_mut(s).arcs.push(Arc { ilabel, olabel, weight, next });
            }
        }
        if rng.f64() < 0.4 {
            fst.state_mut(s).final_weight = rng.i32(0..12) as f32 / 4.0;
        }
    }
    fst
}

/// Random FSTs, 300 of a kind.
fn each(seed: u64, epsilons: f64, transducer: bool, mut check: impl FnMut(Fst, Other)) {
    let mut rng = fastrand::Rng::with_seed(seed);
    for _ in 0..300 {
        let fst = random(&mut rng, epsilons, transducer);
        let other = there(&fst);
        check(fst, other);
    }
}

#[test]
fn files() {
    each(1, 0.3, true, |fst, other| {
        assert_eq!(here(&other), fst);
        // The first line of a text names the start. rustfst writes the lines of arcs before the lines of final states, so a
        // start without arcs is not in the first line.
        if !fst.state(0).arcs.is_empty() {
            assert_same(&text::parse(&other.text().unwrap()).unwrap(), &fst);
        }
    });
}

#[test]
fn connecting() {
    each(2, 0.3, true, |mut fst, mut other| {
        ops::connect(&mut fst);
        connect(&mut other).unwrap();
        assert!(isomorphic(&there(&fst), &other).unwrap());
    });
}

#[test]
fn sorting() {
    each(3, 0.3, true, |mut fst, mut other| {
        // Arcs with the same label may be in another order there, so only their labels are compared.
        ops::sort_arcs(&mut fst, ops::Side::Input);
        tr_sort(&mut other, ILabelCompare {});
        let labels = |fst: &Fst| -> Vec<Vec<i32>> {
            fst.states.iter().map(|state| state.arcs.iter().map(|arc| arc.ilabel).collect()).collect()
        };
        assert_eq!(labels(&fst), labels(&here(&other)));

        ops::connect(&mut fst);
        connect(&mut other).unwrap();
        top_sort(&mut other).unwrap();
        ops::topological_sort(&mut fst).unwrap();
        assert!(fst.numbered().all(|(state, data)| data.arcs.iter().all(|arc| arc.next > state)));
        assert_same(&fst, &here(&other));
    });
}

#[test]
fn labels() {
    each(4, 0.2, true, |fst, other| {
        for (side, theirs) in
            [(ops::Side::Input, ProjectType::ProjectInput), (ops::Side::Output, ProjectType::ProjectOutput)]
        {
            let (mut fst, mut other) = (fst.clone(), other.clone());
            ops::project(&mut fst, side);
            project(&mut other, theirs);
            assert_eq!(here(&other), fst);
        }
        let (mut fst, mut other) = (fst, other);
        ops::invert(&mut fst);
        invert(&mut other);
        assert_eq!(here(&other), fst);
    });
}

#[test]
fn removing_epsilons() {
    each(5, 0.4, false, |mut fst, mut other| {
        ops::remove_epsilons(&mut fst).unwrap();
        rm_epsilon(&mut other).unwrap();
        let theirs = here(&other);
        assert!(fst.states.iter().flat_map(|state| &state.arcs).all(|arc| !arc.is_epsilon()));
        assert_same(&fst, &theirs);
    });
}

#[test]
fn determinizing_and_minimizing() {
    each(6, 0.0, false, |fst, other| {
        let mut ours = ops::determinize(&fst, 1000).unwrap();
        let mut theirs: Other = determinize(&other).unwrap();
        assert_same(&ours, &here(&theirs));

        ops::minimize(&mut ours).unwrap();
        minimize(&mut theirs).unwrap();
        assert_same(&ours, &here(&theirs));
        assert_eq!(ours.states.len(), here(&theirs).states.len());
    });
}

#[test]
fn composing() {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut nonempty = 0;
    for _ in 0..300 {
        let first = random(&mut rng, 0.2, true);
        let mut second = random(&mut rng, 0.2, true);
        ops::sort_arcs(&mut second, ops::Side::Input);
        let ours = ops::compose_transducers(&first, &second, true);
        let theirs: Other =
            compose::<TropicalWeight, Other, Other, _, _, _>(there(&first), there(&second)).unwrap();
        nonempty += usize::from(!here(&theirs).states.is_empty());
        assert_same(&ours.unwrap_or_default(), &here(&theirs));
    }
    assert!(nonempty > 100, "{nonempty} of 300 compositions have a path");
}

#[test]
fn concatenating_and_reversing() {
    each(8, 0.2, false, |fst, other| {
        let mut twice = other.clone();
        concat(&mut twice, &other).unwrap();
        assert_same(&ops::concatenate([&fst, &fst]), &here(&twice));

        let theirs: VectorFst<_> = reverse(&other).unwrap();
        assert_same(&ops::reverse(&fst), &here(&theirs));
    });
}
