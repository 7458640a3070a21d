//! Composition of random small lattices with FSTs, compared with an enumeration of all paths.

use kaldi_fst::{Arc, Fst, State};
use nnet3_decode::Error;
use nnet3_decode::compose::{Matching, SecondFst, compose};
use nnet3_decode::lattice::{compact, word_lattice};
use nnet3_decode::lm::deterministic::BackOffFst;

use crate::lattices::{all_paths, assert_same, random_lattice};

const INFINITY: f32 = f32::INFINITY;

/// An FST of four states. Arcs have the labels 1 to 3, some have no input, and there is no cycle without input. Arcs
/// with `extra` as label lead to lower states.
pub fn random_fst(rng: &mut fastrand::Rng, extra: Option<i32>, epsilons: bool) -> Fst {
    let mut fst = Fst { start: Some(3), ..Fst::default() };
    for s in 0..4u32 {
        let cost = |rng: &mut fastrand::Rng| rng.i32(-2..5) as f32 + rng.f32();
        let mut state = State { final_weight: INFINITY, arcs: Vec::new() };
        if s == 0 || rng.bool() {
            state.final_weight = cost(rng);
        }
        for word in 1..4 {
            for _ in 0..rng.usize(..if extra.is_some() { 2 } else { 3 }) {
                let output = if rng.bool() { word } else { rng.i32(0..9) };
                state.arcs.push(Arc { ilabel: word, olabel: output, weight: cost(rng), next: rng.u32(..4) });
            }
        }
        if s > 0 && epsilons && rng.bool() {
            let arc = Arc { ilabel: 0, olabel: rng.i32(0..9), weight: cost(rng), next: rng.u32(..s) };
            state.arcs.push(arc);
        }
        if let Some(label) = extra.filter(|_| s > 0 && rng.u8(..4) > 0) {
            state.arcs.push(Arc { ilabel: label, olabel: label, weight: cost(rng), next: rng.u32(..s) });
        }
        fst.states.push(state);
    }
    fst
}

/// Outputs and costs of an FST for words from a state, by trying every path.
fn outputs(fst: &Fst, s: u32, words: &[i32], matching: Matching) -> Vec<(Vec<i32>, f64)> {
    let state = fst.state(s);
    let mut out = Vec::new();
    let mut go_on = |arc: &Arc, output: i32, rest: &[i32]| {
        for (mut labels, cost) in outputs(fst, arc.next, rest, matching) {
            if output != 0 {
                labels.insert(0, output);
            }
            out.push((labels, cost + f64::from(arc.weight)));
        }
    };
    state.arcs.iter().filter(|arc| arc.ilabel == 0).for_each(|arc| go_on(arc, arc.olabel, words));
    let backs = |label: i32| state.arcs.iter().filter(move |arc| arc.ilabel == label);
    let Some((&word, rest)) = words.split_first() else {
        // The cost of the end, by backing off if there is no other way.
        let mut at = (s, 0.0);
        loop {
            let state = fst.state(at.0);
            let back = match matching {
                Matching::BackOff(label) => state.arcs.iter().find(|arc| arc.ilabel == label),
                _ => None,
            };
            match back {
                Some(arc) if state.final_weight == INFINITY => at = (arc.next, at.1 + f64::from(arc.weight)),
                _ => break,
            }
        }
        let end = fst.state(at.0).final_weight;
        if end < INFINITY {
            out.push((Vec::new(), at.1 + f64::from(end)));
        }
        return out;
    };
    let exact: Vec<&Arc> = backs(word).collect();
    exact.iter().for_each(|arc| go_on(arc, arc.olabel, rest));
    if exact.is_empty() {
        match matching {
            Matching::Exact => {}
            Matching::BackOff(label) => {
                // (Arcs without input belong to the state before the word, so they are left out behind a back-off.)
                let mut at = (s, 0.0);
                while let Some(back) = fst.state(at.0).arcs.iter().find(|arc| arc.ilabel == label) {
                    at = (back.next, at.1 + back.weight);
                    let arcs: Vec<&Arc> =
                        fst.state(at.0).arcs.iter().filter(|arc| arc.ilabel == word).collect();
                    if !arcs.is_empty() {
                        for arc in arcs {
                            go_on(&Arc { weight: arc.weight + at.1, ..*arc }, arc.olabel, rest);
                        }
                        break;
                    }
                }
            }
            // (The FST here is no acceptor: the output stays.)
            Matching::Rest(label) => backs(label).for_each(|arc| go_on(arc, arc.olabel, rest)),
        }
    }
    out
}

#[test]
fn composition_is_what_every_pair_of_paths_gives() {
    let mut rng = fastrand::Rng::with_seed(21);
    let mut nonempty = 0;
    for case in 0..300 {
        let lattice = random_lattice(&mut rng);
        let (matching, fst) = match case % 3 {
            0 => (Matching::Exact, random_fst(&mut rng, None, true)),
            1 => (Matching::BackOff(99), random_fst(&mut rng, Some(99), false)),
            _ => (Matching::Rest(99), random_fst(&mut rng, Some(99), true)),
        };
        let mut expected = Vec::new();
        for (words, ids, cost) in all_paths(&lattice) {
            for (labels, more) in outputs(&fst, 3, &words, matching) {
                expected.push((labels, ids.clone(), cost + more));
            }
        }
        let second = SecondFst::new(fst, matching).unwrap();
        let found = compose(&lattice, &second).unwrap();
        nonempty += usize::from(found.start.is_some());
        assert_same(all_paths(&found), expected, case);
    }
    assert!(nonempty > 100, "{nonempty}");
}

#[test]
fn both_costs_of_composed_lattices_add_up_and_labels_for_the_rest_become_words() {
    let mut rng = fastrand::Rng::with_seed(22);
    for case in 0..100 {
        let (first, second) = (random_lattice(&mut rng), random_lattice(&mut rng));
        let second = word_lattice(compact(&second));
        let mut expected = Vec::new();
        for (words, ids, cost) in all_paths(&first) {
            let others = all_paths(&second).into_iter().filter(|other| other.0 == words);
            expected.extend(others.map(|other| (words.clone(), ids.clone(), cost + other.2)));
        }
        assert_same(all_paths(&compose(&first, &SecondFst::exact(second)).unwrap()), expected, case);
        // An acceptor with one state that takes every word.
        let state = State { final_weight: 0.5, arcs: vec![Arc::new(99, 0.25, 0), Arc::new(2, 1.0, 0)] };
        let any = SecondFst::new(Fst { start: Some(0), states: vec![state] }, Matching::Rest(99)).unwrap();
        let expected = all_paths(&first).into_iter().map(|(words, ids, cost)| {
            let more: f64 = words.iter().map(|&word| if word == 2 { 1.0 } else { 0.25 }).sum();
            (words, ids, cost + more + 0.5)
        });
        let expected = expected.collect();
        assert_same(all_paths(&compose(&first, &any).unwrap()), expected, case);
    }
}

#[test]
fn words_with_the_label_of_other_words_are_errors() {
    let state = State { final_weight: 0.5, arcs: vec![Arc::new(2, 0.25, 0), Arc::new(7, 1.0, 0)] };
    let fst = Fst { start: Some(0), states: vec![state] };
    let lattice = random_lattice(&mut fastrand::Rng::with_seed(5));
    assert!(all_paths(&lattice).iter().any(|path| path.0.contains(&2)));
    for (matching, label) in [(Matching::Rest(2), 2), (Matching::Rest(7), 7), (Matching::Exact, 0)] {
        let found = compose(&lattice, &SecondFst::new(fst.clone(), matching).unwrap());
        assert_eq!(found.err(), (label == 2).then_some(Error::SpecialWord { label }));
    }
}

#[test]
fn circles_of_back_offs_are_errors() {
    let state = |next| State { final_weight: INFINITY, arcs: vec![Arc::new(7, 0.0, next)] };
    let fst = Fst { start: Some(0), states: vec![state(1), state(0)] };
    assert_eq!(
        SecondFst::new(fst.clone(), Matching::BackOff(7)).unwrap_err(),
        Error::BackOffCycle { state: 0, label: 7 }
    );
    assert!(SecondFst::new(fst.clone(), Matching::BackOff(8)).is_ok());
    let mut free = fst;
    free.states.iter_mut().for_each(|state| state.arcs[0].ilabel = 0);
    assert_eq!(BackOffFst::new(free).unwrap_err(), Error::BackOffCycle { state: 0, label: 0 });
    assert_eq!(BackOffFst::new(Fst::default()).unwrap_err(), Error::EmptyGraph);
}
