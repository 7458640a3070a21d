//! Graphs of trees that are known, and the trees that are recovered from them.

use fastrand::Rng;
use kaldi_fst::ops::{self, Side};
use kaldi_fst::{Arc, EPSILON, FlatFst, Fst};
use kaldi_hmm::event_map::{EventMap, PDF_CLASS};
use kaldi_hmm::{ContextDependency, HmmState, HmmTopology, TransitionModel};
use rustc_hash::FxHashSet;

use super::{PhonePair, seen_contexts};
use crate::{DecodingGraph, compile_decoding_graph};

const NUM_PHONES: i32 = 8;

/// One state with different pdfs for the self-loop, as chain models have it, or two ordinary states.
fn topology(is_chain: bool) -> HmmTopology {
    let end = HmmState::default();
    let states = if is_chain {
        let state = HmmState {
            forward_pdf_class: Some(0),
            self_loop_pdf_class: Some(1),
            transitions: vec![(0, 0.5), (1, 0.5)],
        };
        vec![state, end]
    } else {
        vec![
            HmmState::emitting(0, vec![(0, 0.75), (1, 0.25)]),
            HmmState::emitting(1, vec![(1, 0.5), (2, 0.5)]),
            end,
        ]
    };
    HmmTopology::new(vec![((1..=NUM_PHONES).collect(), states)]).unwrap()
}

/// A tree that asks for each phone whether the phone before it is in one of two sets. `wide` adds the phone behind it.
fn tree(rng: &mut Rng, wide: bool) -> ContextDependency {
    let mut next = 0;
    let mut leaf = || {
        next += 1;
        EventMap::Constant(next - 1)
    };
    let sets: Vec<Vec<i32>> = vec![vec![1, 2, 3], vec![0, 2, 5, 8]];
    let phones = (1..=NUM_PHONES).map(|phone| {
        let set = sets[rng.usize(..2)].clone();
        let mut split = |key: i32| EventMap::Split {
            key,
            yes_set: set.clone(),
            yes: Box::new(EventMap::table(PDF_CLASS, [(0, leaf()), (1, leaf())])),
            no: Box::new(EventMap::table(PDF_CLASS, [(0, leaf()), (1, leaf())])),
        };
        (phone, split(if wide { 2 } else { 0 }))
    });
    ContextDependency::new(if wide { 3 } else { 2 }, 1, EventMap::table(1, phones)).unwrap()
}

/// Words of one to four phones, in a loop. Each word has a symbol of its own at its end.
fn lexicon(rng: &mut Rng, num_words: i32) -> (Fst, Fst, Vec<i32>) {
    let (mut lexicon, mut grammar) = (Fst::default(), Fst::default());
    for fst in [&mut lexicon, &mut grammar] {
        fst.start = Some(fst.add_state());
        fst.state_mut(0).final_weight = 0.0;
    }
    let symbols: Vec<i32> = (1..=num_words).map(|word| NUM_PHONES + word).collect();
    for word in 1..=num_words {
        grammar.state_mut(0).arcs.push(Arc::new(word, 1.0, 0));
        let (mut state, mut olabel) = (0, word);
        for _ in 0..rng.usize(1..=4) {
            let next = lexicon.add_state();
            let ilabel = rng.i32(1..=NUM_PHONES);
            lexicon.state_mut(state).arcs.push(Arc { ilabel, olabel, weight: 0.0, next });
            (state, olabel) = (next, EPSILON);
        }
        let arc = Arc { ilabel: NUM_PHONES + word, olabel: EPSILON, weight: 0.0, next: 0 };
        lexicon.state_mut(state).arcs.push(arc);
    }
    ops::sort_arcs(&mut grammar, Side::Input);
    (lexicon, grammar, symbols)
}

fn graph(
    tree: &ContextDependency,
    model: &TransitionModel,
    (lexicon, grammar, symbols): &(Fst, Fst, Vec<i32>),
) -> Fst {
    let options = DecodingGraph {
        transition_scale: 1.0,
        self_loop_scale: 1.0,
        disambiguation: symbols,
        nonterminals: None,
    };
    compile_decoding_graph(tree, model, (lexicon.clone(), grammar), options).unwrap().0
}

#[test]
fn the_tree_of_a_graph() {
    let mut rng = Rng::with_seed(3);
    for case in 0..40 {
        let words = lexicon(&mut rng, 4 + case % 9);
        let tree = tree(&mut rng, false);
        let model = TransitionModel::new(&tree, topology(case % 2 == 0)).unwrap();
        let made = graph(&tree, &model, &words);
        let seen = seen_contexts(&FlatFst::from(&made), &FxHashSet::default(), &model).unwrap();
        let recovered = seen.tree(&model).unwrap();
        // Pairs of the graph have the tree's pdfs; the others have pdfs that the model has for the phone.
        let mut missing = Vec::new();
        for left in 0..=NUM_PHONES {
            for phone in 1..=NUM_PHONES {
                let pdfs =
                    |tree: &ContextDependency| [0, 1].map(|class| tree.pdf(&[left, phone], class).unwrap());
                let (expected, found) = (pdfs(&tree), pdfs(&recovered.tree));
                let pair = PhonePair { left, phone };
                if seen.states.contains_key(&pair) {
                    assert_eq!(found, expected, "case {case}: {pair:?}");
                } else {
                    missing.push(pair);
                    let valid = |left: i32| [0, 1].map(|class| tree.pdf(&[left, phone], class).unwrap());
                    assert!((0..=NUM_PHONES).any(|left| valid(left) == found), "case {case}: {pair:?}");
                }
            }
        }
        assert_eq!(recovered.guessed, missing);
        // The same graph comes of it.
        assert_eq!(graph(&recovered.tree, &model, &words), made, "case {case}");
    }
}

/// A word loop with all pairs but a few: similar neighbours tell the missing ones.
#[test]
fn missing_pairs_come_from_similar_ones() {
    let mut rng = Rng::with_seed(5);
    let tree = tree(&mut rng, false);
    let model = TransitionModel::new(&tree, topology(true)).unwrap();
    let words = lexicon(&mut rng, 60);
    let made = graph(&tree, &model, &words);
    let seen = seen_contexts(&FlatFst::from(&made), &FxHashSet::default(), &model).unwrap();
    let (mut right, mut all) = (0, 0);
    for &hidden in seen.states.keys() {
        let mut rest = seen.clone();
        rest.states.remove(&hidden);
        let recovered = rest.tree(&model).unwrap();
        assert!(recovered.guessed.contains(&hidden));
        let window = [hidden.left, hidden.phone];
        right += usize::from(recovered.tree.pdf(&window, 0) == tree.pdf(&window, 0));
        all += 1;
    }
    assert!(all > 40 && right * 10 >= all * 8, "{right} of {all}");
}

#[test]
fn trees_that_ask_for_more_are_refused() {
    let mut rng = Rng::with_seed(7);
    let tree = tree(&mut rng, true);
    let model = TransitionModel::new(&tree, topology(true)).unwrap();
    let made = {
        // Windows of three phones need symbols at the ends of utterances; a chain of phones does without.
        let mut fst = Fst::default();
        fst.start = Some(fst.add_state());
        for ids in [[2, 6], [2, 8]] {
            let mut state = 0;
            for id in ids {
                let next = fst.add_state();
                fst.state_mut(state).arcs.push(Arc::new(id, 0.0, next));
                state = next;
            }
        }
        fst
    };
    let error = seen_contexts(&FlatFst::from(&made), &FxHashSet::default(), &model).unwrap_err().to_string();
    assert!(error.contains("more than one pdf"), "{error}");
    let mut foreign = made;
    foreign.state_mut(0).arcs[0].ilabel = 100_000;
    let error =
        seen_contexts(&FlatFst::from(&foreign), &FxHashSet::default(), &model).unwrap_err().to_string();
    assert!(error.contains("100000"), "{error}");
}
