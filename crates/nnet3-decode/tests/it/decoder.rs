//! Tests of the searches on three utterances, against the reference's results.

use std::sync::Arc;

use kaldi_fst::store::{self, FileOrMemory};
use kaldi_fst::{EPSILON, FlatFst};
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::{I32VectorHolder, MatrixHolder};
use kaldi_io::{DenseMatrix, KaldiReader, SequentialReader, read_object};
use nnet3_decode::decoder::{
    Decodable, LatticeDecoder, MatrixDecodable, Pruning, SearchGraph, SearchOptions, Step, ViterbiDecoder,
};
use nnet3_decode::path;

pub fn file(name: &str) -> String {
    format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

pub fn table<H: kaldi_io::holder::Holder>(name: &str) -> Vec<(String, H::T)> {
    let mut reader = SequentialReader::<H>::open(&format!("ark:{}", file(name))).unwrap();
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

pub fn graph_and_pdfs() -> (SearchGraph, Arc<[i32]>) {
    let model: TransitionModel = read_object(&file("mono.mdl")).unwrap();
    let fst = store::read_flat_fst(&file("decode/HCLG.fst")).unwrap();
    (SearchGraph::new(fst, model.num_transition_ids()).unwrap(), model.pdfs().clone())
}

/// The graph of the tests, left in its file.
fn mapped_graph() -> SearchGraph {
    let model: TransitionModel = read_object(&file("mono.mdl")).unwrap();
    let mut r = KaldiReader::open_raw(&file("decode/HCLG.fst")).unwrap();
    r.set_binary(true);
    let (FileOrMemory::File(fst), _) = store::read_graph(&mut r).unwrap() else {
        panic!("it was not left there")
    };
    SearchGraph::mapped(fst, model.num_transition_ids())
}

/// Each word of the graph is found to be missing, if it is the only one that is.
#[test]
fn words_that_a_table_lacks() {
    let fst = store::read_flat_fst(&file("decode/HCLG.fst")).unwrap();
    let words: std::collections::BTreeSet<i32> =
        fst.arcs.iter().map(|arc| arc.olabel).filter(|&w| w != EPSILON).collect();
    assert!(words.len() > 5, "{words:?}");
    for graph in [graph_and_pdfs().0, mapped_graph()] {
        assert_eq!(graph.unknown_word(usize::MAX, |word| words.contains(&word)), None);
        for &word in &words {
            assert_eq!(graph.unknown_word(usize::MAX, |other| other != word), Some(word));
        }
    }
    // Files of more arcs than that are left alone.
    assert_eq!(mapped_graph().unknown_word(fst.arcs.len() - 1, |_| false), None);
    assert!(mapped_graph().unknown_word(fst.arcs.len(), |_| false).is_some());
}

/// Words and transition-ids of the best paths, and the same lattices of a graph in memory and of one in its file.
#[test]
fn lattices_of_the_reference() {
    let (graph, pdfs) = graph_and_pdfs();
    let mapped = mapped_graph();
    let wide = SearchOptions::default();
    let tight = SearchOptions {
        pruning: Pruning { beam: 10.0, max_active: 100, min_active: 10, beam_delta: 0.3, hash_ratio: 1.5 },
        lattice_beam: 4.0,
        prune_interval: 10,
        ..SearchOptions::default()
    };
    let raw = SearchOptions {
        pruning: Pruning { beam: 11.0, ..Pruning::lattice() },
        lattice_beam: 5.0,
        ..SearchOptions::default()
    };
    for (name, options) in [("default", wide), ("tight", tight), ("raw", raw)] {
        let mut decoder = LatticeDecoder::new(graph.unvisited(), options).unwrap();
        let words = table::<I32VectorHolder>(&format!("decode/{name}.words"));
        let alignments = table::<I32VectorHolder>(&format!("decode/{name}.ali"));
        for (i, (key, loglikes)) in table::<MatrixHolder>("decode/loglikes.ark").into_iter().enumerate() {
            let decodable = MatrixDecodable::new(&loglikes, &pdfs, 1.0).unwrap();
            assert!(decoder.decode(&decodable).unwrap() && decoder.reached_final());
            let lattice = decoder.raw_lattice().unwrap();
            let mut in_file = LatticeDecoder::new(mapped.unvisited(), options).unwrap();
            assert!(in_file.decode(&decodable).unwrap());
            assert_eq!(in_file.raw_lattice().unwrap(), lattice);
            let best = path::read_linear(&path::best_path(&lattice)).unwrap();
            assert_eq!((&key, &best.words), (&words[i].0, &words[i].1), "{name}");
            assert_eq!((&key, &best.ids), (&alignments[i].0, &alignments[i].1), "{name}");
            let mut viterbi = ViterbiDecoder::new(&graph, options.pruning).unwrap();
            let one = viterbi.decode(&decodable).unwrap().expect("a path");
            assert_eq!((&one.ids, &one.words), (&best.ids, &best.words));
            let mut in_file = ViterbiDecoder::new(&mapped, options.pruning).unwrap();
            assert_eq!(in_file.decode(&decodable).unwrap(), Some(one.clone()));
            let costs =
                |weight: nnet3_decode::LatticeWeight| f64::from(weight.graph) + f64::from(weight.acoustic);
            assert!((costs(one.weight) - costs(best.weight)).abs() < 1e-2);
        }
    }
}

/// The best path after each frame, against a search that ends there, in a graph where every state is final.
#[test]
fn the_best_path_while_the_search_goes_on() {
    let (graph, pdfs) = graph_and_pdfs();
    let model: TransitionModel = read_object(&file("mono.mdl")).unwrap();
    let mut fst = store::read_flat_fst(&file("decode/HCLG.fst")).unwrap();
    fst.finals.fill(0.0);
    let all_final = SearchGraph::new(fst, model.num_transition_ids()).unwrap();
    let options = SearchOptions { prune_interval: 4, ..SearchOptions::default() };
    let (_, loglikes) = table::<MatrixHolder>("decode/loglikes.ark").swap_remove(0);
    let decodable = MatrixDecodable::new(&loglikes, &pdfs, 0.3).unwrap();
    let mut decoder = LatticeDecoder::new(graph.unvisited(), options).unwrap();
    decoder.begin().unwrap();
    assert_eq!(decoder.best_path().next(), None);
    let mut before: Vec<Step> = Vec::new();
    let (mut changed, mut most_words) = (0, 0);
    for frame in 0..loglikes.rows {
        decoder.advance(decodable.frame(frame)).unwrap();
        assert_eq!(decoder.frames_decoded(), frame + 1);
        let rows = DenseMatrix {
            rows: frame + 1,
            cols: loglikes.cols,
            data: loglikes.data[..(frame + 1) * loglikes.cols].to_vec(),
        };
        let prefix = MatrixDecodable::new(&rows, &pdfs, 0.3).unwrap();
        let best = |graph: &SearchGraph| {
            let mut decoder = LatticeDecoder::new(graph.unvisited(), options).unwrap();
            assert!(decoder.decode(&prefix).unwrap());
            let best = path::read_linear(&path::best_path(&decoder.raw_lattice().unwrap())).unwrap();
            let cost = f64::from(best.weight.graph) + f64::from(best.weight.acoustic);
            (best.ids, cost, decoder.reached_final(), best.words)
        };
        let (ids, cost, _, words) = best(&all_final);
        // (Not after each frame: what is new may be several frames.)
        if frame % 5 < 3 {
            assert_eq!(decoder.best_words(), words, "frame {frame}");
            most_words = most_words.max(words.len());
        }
        let mut steps: Vec<Step> = decoder.best_path().collect();
        steps.reverse();
        assert_eq!(steps.iter().map(|step| step.transition_id).collect::<Vec<_>>(), ids, "frame {frame}");
        let relative = f64::from(decoder.final_relative_cost().unwrap());
        match best(&graph) {
            (_, final_cost, true, _) => {
                assert!((relative - (final_cost - cost)).abs() < 1e-2, "frame {frame}")
            }
            _ => assert_eq!(relative, f64::INFINITY),
        }
        // From a token that both paths have, they are the same backwards.
        let common = (0..before.len()).rev().find(|&t| before[t].token == steps[t].token).unwrap_or(0);
        assert_eq!(before[..common], steps[..common]);
        changed += usize::from(common + 1 < before.len());
        before = steps;
    }
    assert!(changed > 0 && most_words > 2, "{changed} {most_words}");
}

/// Arcs that go in a circle at no cost are on no best path.
#[test]
fn circles_at_no_cost() {
    let mut fst = kaldi_fst::Fst::default();
    let states: Vec<u32> = (0..4).map(|_| fst.add_state()).collect();
    fst.start = Some(states[0]);
    let mut arc = |from: usize, ilabel: i32, next: usize| {
        let arc = kaldi_fst::Arc { ilabel, olabel: 0, weight: 0.0, next: states[next] };
        fst.state_mut(states[from]).arcs.push(arc);
    };
    for (from, ilabel, next) in [(0, 1, 1), (1, 0, 2), (2, 0, 3), (3, 0, 1), (2, 0, 1), (3, 2, 0)] {
        arc(from, ilabel, next);
    }
    let graph = SearchGraph::new((&fst).into(), 2).unwrap();
    let mut decoder = LatticeDecoder::new(graph.unvisited(), SearchOptions::default()).unwrap();
    decoder.begin().unwrap();
    for _ in 0..3 {
        decoder.advance(|_| 0.0).unwrap();
    }
    let ids: Vec<i32> = decoder.best_path().map(|step| step.transition_id).collect();
    assert_eq!(ids, [1, 2, 1]);
    assert_eq!(decoder.final_relative_cost().unwrap(), f32::INFINITY);
    // A frame in which every arc has probability 0.
    decoder.advance(|_| f32::NEG_INFINITY).unwrap();
    assert_eq!((decoder.best_path().next(), decoder.finish().unwrap()), (None, false));
}

/// Every path of a search without pruning must be in the lattice: its sum over paths is that of the forward algorithm.
#[test]
fn all_paths_of_a_wide_beam() {
    let (graph, pdfs) = graph_and_pdfs();
    let (_, loglikes) = table::<MatrixHolder>("decode/loglikes.ark").swap_remove(0);
    let loglikes =
        DenseMatrix { rows: 12, cols: loglikes.cols, data: loglikes.data[..12 * loglikes.cols].to_vec() };
    let options = SearchOptions {
        pruning: Pruning { beam: 1e4, ..Pruning::lattice() },
        lattice_beam: 1e4,
        prune_interval: 1,
        ..SearchOptions::default()
    };
    let decodable = MatrixDecodable::new(&loglikes, &pdfs, 0.1).unwrap();
    let mut decoder = LatticeDecoder::new(graph.unvisited(), options).unwrap();
    assert!(decoder.decode(&decodable).unwrap());
    let fst = store::read_flat_fst(&file("decode/HCLG.fst")).unwrap();
    let ending = |state: usize| if decoder.reached_final() { fst.finals[state] } else { 0.0 };
    let lattice = decoder.raw_lattice().unwrap();
    // The lattice is sorted: each state comes before its successors.
    let mut sums = vec![f64::NEG_INFINITY; lattice.states.len()];
    sums[lattice.start.unwrap() as usize] = 0.0;
    let add = |a: &mut f64, b: f64| *a = a.max(b) + (-(*a - b).abs()).exp().ln_1p();
    let mut total = f64::NEG_INFINITY;
    let cost = |weight: nnet3_decode::LatticeWeight| f64::from(weight.graph) + f64::from(weight.acoustic);
    for (s, state) in lattice.states.iter().enumerate() {
        for arc in &state.arcs {
            let sum = sums[s] - cost(arc.weight);
            add(&mut sums[arc.next as usize], sum);
        }
        if state.final_weight.graph.is_finite() {
            add(&mut total, sums[s] - cost(state.final_weight));
        }
    }
    let expected = forward_algorithm(&fst, &loglikes, &pdfs, 0.1, ending);
    assert!((total - expected).abs() < 1e-3, "{total} instead of {expected}");
}

/// The logarithm of the sum over all paths, state by state.
fn forward_algorithm(
    fst: &FlatFst,
    loglikes: &DenseMatrix<f32>,
    pdfs: &[i32],
    scale: f64,
    ending: impl Fn(usize) -> f32,
) -> f64 {
    // Arcs without labels have no cycles, so as many rounds as there are states pass on all probability.
    let close = |probs: &mut Vec<f64>| {
        let mut moving = probs.clone();
        while moving.iter().any(|&prob| prob > 0.0) {
            let mut next = vec![0.0; moving.len()];
            for (s, prob) in moving.iter().enumerate() {
                for arc in fst.arcs[fst.arcs_of(s)].iter().filter(|arc| arc.ilabel == EPSILON) {
                    next[arc.next as usize] += prob * f64::from(-arc.weight).exp();
                }
            }
            probs.iter_mut().zip(&next).for_each(|(prob, more)| *prob += more);
            moving = next;
        }
    };
    let mut probs = vec![0.0; fst.num_states()];
    probs[fst.start.unwrap() as usize] = 1.0;
    close(&mut probs);
    for row in loglikes.data.chunks(loglikes.cols) {
        let mut next = vec![0.0; probs.len()];
        for (s, prob) in probs.iter().enumerate() {
            for arc in fst.arcs[fst.arcs_of(s)].iter().filter(|arc| arc.ilabel != EPSILON) {
                let likelihood = scale * f64::from(row[pdfs[arc.ilabel as usize] as usize]);
                next[arc.next as usize] += prob * (likelihood - f64::from(arc.weight)).exp();
            }
        }
        probs = next;
        close(&mut probs);
    }
    let total: f64 = probs.iter().enumerate().map(|(s, prob)| prob * f64::from(-ending(s)).exp()).sum();
    total.ln()
}

/// A graph in its file that was made for another model, or is damaged, must be an error with the file's name when the
/// search visits it.
#[test]
fn a_wrong_graph_in_its_file() {
    let (_, pdfs) = graph_and_pdfs();
    let decode = |graph: &SearchGraph| {
        let (_, loglikes) = table::<MatrixHolder>("decode/loglikes.ark").swap_remove(0);
        let decodable = MatrixDecodable::new(&loglikes, &pdfs, 1.0).unwrap();
        let lattices =
            LatticeDecoder::new(graph.unvisited(), SearchOptions::default()).unwrap().decode(&decodable);
        let path = ViterbiDecoder::new(graph, Pruning::viterbi()).unwrap().decode(&decodable);
        [lattices.unwrap_err(), path.unwrap_err()].map(|error| error.to_string())
    };
    let open = |path: &str| {
        let mut r = KaldiReader::open_raw(path).unwrap();
        r.set_binary(true);
        let (FileOrMemory::File(fst), _) = store::read_graph(&mut r).unwrap() else {
            panic!("it was not left there")
        };
        fst
    };
    let path = file("decode/HCLG.fst");
    for error in decode(&SearchGraph::mapped(open(&path), 3)) {
        assert!(
            error.starts_with(&path)
                && error.ends_with("but the model has 3, so the graph was made for another model"),
            "{error}"
        );
    }
    // The last arcs lead to a state that is not there; arcs are the end of the file.
    let mut bytes = std::fs::read(&path).unwrap();
    let num_states = store::read_flat_fst(&path).unwrap().num_states();
    for arc in bytes.rchunks_exact_mut(16).take(100) {
        arc[12..].copy_from_slice(&(num_states as u32).to_le_bytes());
    }
    let damaged = format!("{}/damaged.fst", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&damaged, bytes).unwrap();
    let expected = format!("{damaged}: an arc leads to state {num_states}, but there are {num_states}");
    assert_eq!(decode(&SearchGraph::mapped(open(&damaged), usize::MAX)), [expected.clone(), expected]);
}
