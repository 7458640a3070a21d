//! Searches of grammars, against searches of the same graphs put together before.

use kaldi_fst::{Fst, text};
use kaldi_graph::grammar::{GrammarFst, Nonterminals};
use kaldi_io::DenseMatrix;
use nnet3_decode::decoder::{
    ExpandedGrammar, GrammarGraph, Graph, LatticeDecoder, MatrixDecodable, Pruning, SearchGraph,
    SearchOptions,
};
use nnet3_decode::{Error, path};

const SYMBOLS: Nonterminals = Nonterminals { first_symbol: 2 };
const OPTIONS: SearchOptions = SearchOptions {
    pruning: Pruning { beam: 40.0, max_active: 1000, min_active: 200, beam_delta: 0.5, hash_ratio: 2.0 },
    lattice_beam: 30.0,
    prune_interval: 3,
    prune_scale: 0.1,
};

fn label(nonterminal: i32, phone: i32) -> i32 {
    SYMBOLS.label(nonterminal, phone).unwrap()
}

fn top() -> Fst {
    text::parse(&format!(
        "0 1 1 10 0.5\n1 2 {} 0 1\n1 4096\n2 3 {} 0 0.25\n2 4 {} 0 0.75\n3 5 1 0 0\n4 5 2 11 0\n5 5 1 0 0\n5 0\n",
        label(6, 1),
        label(5, 1),
        label(5, 2)
    ))
    .unwrap()
}

/// A word of one or more frames; then, if `again`, perhaps the same nonterminal once more.
fn part(again: bool) -> Fst {
    let mut lines = format!(
        "0 1 {} 12 0.125\n0 2 {} 0 0.1\n1 1 2 0 0.2\n1 3 2 0 0\n2 3 1 13 0\n",
        label(3, 1),
        label(3, 2)
    );
    lines += &format!("3 4 0 0 0.5\n4 5 {} 0 0\n4 5 {} 0 0.2\n4 4096\n5 0\n", label(4, 1), label(4, 2));
    if again {
        lines += &format!("3 6 0 0 0.3\n6 7 {} 0 0\n6 4096\n", label(6, 1));
        lines +=
            &format!("7 8 {} 0 0\n7 8 {} 0 0\n8 5 {} 0 0\n8 4096\n", label(5, 1), label(5, 2), label(4, 1));
    }
    text::parse(&lines).unwrap()
}

fn random_loglikes(rng: &mut fastrand::Rng, frames: usize) -> DenseMatrix<f32> {
    DenseMatrix { rows: frames, cols: 2, data: (0..2 * frames).map(|_| rng.f32() * 8.0 - 4.0).collect() }
}

/// Words, transition-ids and cost of the best path; the numbers of states and arcs of the lattice.
type Decoded = (Vec<i32>, Vec<i32>, f32, [usize; 2]);

fn decode<G: Graph>(decoder: &mut LatticeDecoder<G>, loglikes: &DenseMatrix<f32>) -> Option<Decoded> {
    let decodable = MatrixDecodable::new(loglikes, &[0, 0, 1], 1.0).unwrap();
    if !decoder.decode(&decodable).unwrap() || !decoder.reached_final() {
        return None;
    }
    let raw = decoder.raw_lattice().unwrap();
    let best = path::read_linear(&path::best_path(&raw)).unwrap();
    Some((best.words, best.ids, best.weight.graph + best.weight.acoustic, [raw.states.len(), raw.num_arcs()]))
}

#[test]
fn graphs_that_refer_to_each_other() {
    let grammar = GrammarFst::new(SYMBOLS, top(), vec![(6, part(false))]).unwrap();
    let whole = SearchGraph::new((&grammar.expanded().unwrap()).into(), 2).unwrap();
    let graph = GrammarGraph::new(grammar, 2).unwrap();
    assert_eq!(graph.unknown_word(|word| word != 13), Some(13));
    let mut of_grammar = LatticeDecoder::new(ExpandedGrammar::new(&graph), OPTIONS).unwrap();
    let mut of_whole = LatticeDecoder::new(whole.unvisited(), OPTIONS).unwrap();
    let mut rng = fastrand::Rng::with_seed(11);
    let mut found = 0;
    for frames in (1..40).chain(3..30) {
        let loglikes = random_loglikes(&mut rng, frames);
        let result = decode(&mut of_grammar, &loglikes);
        assert_eq!(result, decode(&mut of_whole, &loglikes), "{frames} frames");
        found += usize::from(result.is_some());
    }
    assert!(found > 50, "{found}");
}

/// A nonterminal that refers to itself; states that were forgotten are worked out again.
#[test]
fn recursion() {
    let grammar = GrammarFst::new(SYMBOLS, top(), vec![(6, part(true))]).unwrap();
    assert!(grammar.expanded().is_err());
    let graph = GrammarGraph::new(grammar, 2).unwrap();
    let mut decoder = LatticeDecoder::new(ExpandedGrammar::new(&graph), OPTIONS).unwrap();
    let mut rng = fastrand::Rng::with_seed(12);
    let loglikes = random_loglikes(&mut rng, 30);
    let (words, ids, cost, size) = decode(&mut decoder, &loglikes).unwrap();
    assert_eq!(ids.len(), 30);
    assert!(words.iter().filter(|&&word| word == 12).count() > 1, "{words:?}");
    let mut forgetful = ExpandedGrammar::new(&graph);
    let start = forgetful.start().unwrap();
    let mut kept = [start];
    for _ in 0..6 {
        let mut next = kept[0];
        forgetful.visit(next).unwrap();
        if let Some(arc) = forgetful.epsilons(next).chain(forgetful.emitting(next)).last() {
            next = arc.next;
        }
        kept = [next];
        forgetful.forget_others(&mut kept.iter_mut()).unwrap();
        assert_eq!((kept[0], forgetful.num_states()), (0, 1));
    }
    let mut again = LatticeDecoder::new(forgetful, OPTIONS).unwrap();
    assert_eq!(decode(&mut again, &loglikes), Some((words, ids, cost, size)));
}

#[test]
fn grammars_that_cannot_be_searched() {
    let nest =
        format!("0 1 {} 0 0\n1 2 {} 0 0\n1 4096\n2 3 {} 0 0\n3 0\n", label(3, 1), label(6, 1), label(5, 1));
    let endless = GrammarFst::new(SYMBOLS, top(), vec![(6, text::parse(&nest).unwrap())]).unwrap();
    let unprepared = text::parse(&format!("0 1 {} 0 0\n1 0\n", label(6, 1))).unwrap();
    for (grammar, words) in [
        (endless, "does a nonterminal begin with itself?"),
        (
            GrammarFst::new(SYMBOLS, unprepared, Vec::new()).unwrap(),
            "was the graph prepared by make-grammar-fst?",
        ),
    ] {
        let graph = GrammarGraph::new(grammar, 2).unwrap();
        let mut decoder = LatticeDecoder::new(ExpandedGrammar::new(&graph), OPTIONS).unwrap();
        let loglikes = random_loglikes(&mut fastrand::Rng::with_seed(1), 5);
        let decodable = MatrixDecodable::new(&loglikes, &[0, 0, 1], 1.0).unwrap();
        let error = decoder.decode(&decodable).unwrap_err();
        assert!(matches!(&error, Error::BrokenGraph(text) if text.contains(words)), "{error}");
    }
    let error = GrammarGraph::new(GrammarFst::new(SYMBOLS, top(), Vec::new()).unwrap(), 1).unwrap_err();
    assert!(matches!(error, Error::GraphLabel { label: 2, last: 1, .. }), "{error}");
}
