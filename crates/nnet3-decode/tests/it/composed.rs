//! Searches of graphs that are composed on the way, against searches of the same graphs composed before.

use std::collections::BTreeSet;

use fastrand::Rng;
use kaldi_fst::look_ahead::{LookAheadFile, ReachBuilder};
use kaldi_fst::ngrams::FirstSteps;
use kaldi_fst::{Arc, EPSILON, FlatFst, Fst, LookAheadFst, NgramFst, ops, store};
use kaldi_io::{DenseMatrix, KaldiReader, KaldiWriter};
use nnet3_decode::decoder::{
    ComposedGraph, Grammar, Graph, GraphPair, LatticeDecoder, MatrixDecodable, Pruning, SearchGraph,
    SearchOptions,
};
use nnet3_decode::posterior::forward_backward;
use nnet3_decode::{Error, path};

const TRANSITION_IDS: i32 = 6;
const DISAMBIGUATION: i32 = TRANSITION_IDS + 1;
const WORDS: i32 = 9;
const FINAL_LABEL: i32 = WORDS + 1;

/// The labels that come next on paths from a state, by search.
fn next_labels(fst: &Fst, state: u32) -> BTreeSet<i32> {
    let (mut seen, mut labels) = (vec![state], BTreeSet::new());
    let mut next = 0;
    while let Some(&s) = seen.get(next) {
        next += 1;
        if fst.state(s).final_weight != f32::INFINITY {
            labels.insert(FINAL_LABEL);
        }
        for arc in &fst.state(s).arcs {
            if arc.olabel != EPSILON {
                labels.insert(arc.olabel);
            } else if !seen.contains(&arc.next) {
                seen.push(arc.next);
            }
        }
    }
    labels
}

fn look_ahead(mut fst: Fst) -> LookAheadFst {
    let mut reach = ReachBuilder::new(FINAL_LABEL);
    for s in 0..fst.states.len() {
        fst.states[s].arcs.sort_by_key(|arc| arc.olabel);
        let mut intervals: Vec<[i32; 2]> = Vec::new();
        for label in next_labels(&fst, s as u32) {
            match intervals.last_mut() {
                Some([_, end]) if *end == label => *end += 1,
                _ => intervals.push([label, label + 1]),
            }
        }
        reach.add(&intervals).unwrap();
    }
    LookAheadFst { fst: (&fst).into(), reach: reach.build() }
}

/// Makes a random HCL with epsilon arcs to later states only.
fn random_hcl(rng: &mut Rng) -> Fst {
    let mut fst = Fst::default();
    let count = 14;
    for _ in 0..count {
        fst.add_state();
    }
    fst.start = Some(0);
    for s in 0..count {
        for _ in 0..rng.u32(1..5) {
            let empty = rng.u32(0..4) == 0 && s + 1 < count;
            let next = if empty { rng.u32(s + 1..count) } else { rng.u32(0..count) };
            let ilabel = match empty {
                true => {
                    if rng.bool() {
                        EPSILON
                    } else {
                        DISAMBIGUATION
                    }
                }
                false => rng.i32(1..=TRANSITION_IDS),
            };
            let olabel = if rng.u32(0..3) == 0 { rng.i32(1..=WORDS) } else { EPSILON };
            fst.state_mut(s).arcs.push(Arc { ilabel, olabel, weight: rng.f32() * 3.0, next });
        }
        if rng.u32(0..4) == 0 {
            fst.state_mut(s).final_weight = rng.f32();
        }
    }
    fst
}

/// A bigram: state 0 knows most words, the others some, and they go back to state 0.
fn random_bigram(rng: &mut Rng) -> NgramFst {
    let states = WORDS as usize + 1;
    let mut fst = NgramFst {
        start: Some(rng.u32(0..states as u32)),
        shorter: vec![0; states],
        first_children: std::iter::once(1).chain(std::iter::repeat_n(states as u32, states)).collect(),
        first_words: (0..=states as i32).collect(),
        backoff: (0..=states).map(|_| rng.f32() * 2.0).collect(),
        finals: Vec::new(),
        first_futures: vec![0],
        words: Vec::new(),
        costs: Vec::new(),
        first_steps: FirstSteps::default(),
    };
    for s in 0..states {
        fst.finals.push(if rng.bool() { rng.f32() } else { f32::INFINITY });
        for word in 1..=WORDS {
            if rng.u32(0..if s == 0 { 8 } else { 3 }) > 0 && (s == 0 || rng.bool()) {
                fst.words.push(word);
                fst.costs.push(rng.f32() * 4.0);
            }
        }
        fst.first_futures.push(fst.words.len() as u32);
    }
    fst
}

fn as_fst(ngrams: &NgramFst) -> Fst {
    let mut fst = Fst::default();
    for s in 0..ngrams.num_states() as u32 {
        fst.add_state();
        let state = fst.state_mut(s);
        state.final_weight = ngrams.final_cost(s);
        if let Some((next, weight)) = ngrams.backoff(s) {
            state.arcs.push(Arc { ilabel: EPSILON, olabel: EPSILON, weight, next });
        }
        for (&word, &weight) in ngrams.words(s).iter().zip(ngrams.costs(s)) {
            state.arcs.push(Arc { ilabel: word, olabel: word, weight, next: ngrams.next(s, word) });
        }
    }
    fst.start = ngrams.start();
    fst
}

/// Best words and transition-ids with their cost, and the sum over all paths; `None` if no path is left.
type Found = Option<(Vec<i32>, Vec<i32>, f64, f64)>;

fn search(graph: impl Graph, loglikes: &DenseMatrix<f32>) -> Found {
    let options = SearchOptions {
        pruning: Pruning { beam: 1e4, ..Pruning::lattice() },
        lattice_beam: 1e4,
        prune_interval: 2,
        ..SearchOptions::default()
    };
    let pdfs: Vec<i32> = (0..=TRANSITION_IDS).map(|id| (id - 1).max(0)).collect();
    let mut decoder = LatticeDecoder::new(graph, options).unwrap();
    if !decoder.decode(&MatrixDecodable::new(loglikes, &pdfs, 1.0).unwrap()).unwrap()
        || !decoder.reached_final()
    {
        return None;
    }
    let lattice = decoder.raw_lattice().unwrap();
    let best = path::read_linear(&path::best_path(&lattice)).unwrap();
    let cost = f64::from(best.weight.graph) + f64::from(best.weight.acoustic);
    let total = forward_backward(&lattice).unwrap().total;
    Some((best.words, best.ids, cost, total))
}

#[test]
fn the_same_paths_as_of_a_graph_composed_before() {
    let mut found_some = 0;
    for seed in 0..200 {
        let mut rng = Rng::with_seed(seed);
        let (hcl, ngrams) = (random_hcl(&mut rng), random_bigram(&mut rng));
        let g = as_fst(&ngrams);
        let mut composed = ops::compose_transducers(&hcl, &g, true).unwrap();
        for arc in composed.states.iter_mut().flat_map(|state| state.arcs.iter_mut()) {
            if arc.ilabel == DISAMBIGUATION {
                arc.ilabel = EPSILON;
            }
        }
        let (rows, cols) = (8, TRANSITION_IDS as usize);
        let data = (0..rows * cols).map(|_| -rng.f32() * 5.0).collect();
        let loglikes = DenseMatrix { rows, cols, data };
        let before = SearchGraph::new((&composed).into(), TRANSITION_IDS as usize).unwrap();
        let expected = if composed.start.is_some() { search(before.unvisited(), &loglikes) } else { None };
        found_some += usize::from(expected.is_some());
        for grammar in [Grammar::Ngrams(ngrams.clone()), FlatFst::from(&g).into()] {
            let pair =
                GraphPair::new(look_ahead(hcl.clone()), grammar, &[DISAMBIGUATION], TRANSITION_IDS as usize);
            let pair = pair.unwrap();
            let found = search(ComposedGraph::new(&pair), &loglikes);
            match (&expected, &found) {
                (None, None) => {}
                (Some((words, ids, cost, total)), Some((w, i, c, t))) => {
                    assert_eq!((words, ids), (w, i), "seed {seed}");
                    // (Each step of the look-ahead rounds a cost to 1/1024.)
                    assert!(
                        (cost - c).abs() < 1e-2 && (total - t).abs() < 1e-2,
                        "{seed}: {cost} {c}, {total} {t}"
                    );
                }
                _ => panic!("seed {seed}: {expected:?}, {found:?}"),
            }
        }
    }
    assert!(found_some > 100, "{found_some}");
}

/// A search finds the same paths, in the same order, whatever other searches have expanded before it.
#[test]
fn searches_share_states() {
    let mut rng = Rng::with_seed(5);
    let (hcl, ngrams) = (random_hcl(&mut rng), random_bigram(&mut rng));
    let pair = || {
        let grammar = Grammar::Ngrams(ngrams.clone());
        let hcl = look_ahead(hcl.clone());
        GraphPair::new(hcl, grammar, &[DISAMBIGUATION], TRANSITION_IDS as usize).unwrap()
    };
    let (rows, cols) = (12, TRANSITION_IDS as usize);
    let mut loglikes =
        || DenseMatrix { rows, cols, data: (0..rows * cols).map(|_| -rng.f32() * 5.0).collect() };
    let pdfs: Vec<i32> = (0..=TRANSITION_IDS).map(|id| (id - 1).max(0)).collect();
    let lattice = |decoder: &mut LatticeDecoder<ComposedGraph<&GraphPair>>, loglikes: &DenseMatrix<f32>| {
        decoder.decode(&MatrixDecodable::new(loglikes, &pdfs, 1.0).unwrap()).unwrap();
        decoder.raw_lattice().unwrap()
    };
    let pruning = Pruning { beam: 4.0, ..Pruning::lattice() };
    let options = SearchOptions { pruning, ..SearchOptions::default() };
    let shared = pair();
    let mut decoders: Vec<_> =
        (0..3).map(|_| LatticeDecoder::new(ComposedGraph::new(&shared), options).unwrap()).collect();
    for round in 0..9 {
        let loglikes = loglikes();
        let alone = pair();
        let mut decoder = LatticeDecoder::new(ComposedGraph::new(&alone), options).unwrap();
        let expected = lattice(&mut decoder, &loglikes);
        assert!(!expected.states.is_empty());
        assert_eq!(lattice(&mut decoders[round % 3], &loglikes), expected, "round {round}");
    }
}

/// Writes HCL to a file, the arcs of each state in another order, and maps it.
fn in_file(name: &str, hcl: &LookAheadFst) -> LookAheadFile {
    let mut shuffled = hcl.clone();
    for s in 0..shuffled.fst.num_states() {
        let range = shuffled.fst.arcs_of(s);
        shuffled.fst.arcs[range].reverse();
    }
    let path = std::env::temp_dir().join(format!("composed-{name}-{}.fst", std::process::id()));
    let path = path.to_str().unwrap();
    let mut w = KaldiWriter::in_memory(true);
    store::write_look_ahead(&mut w, &shuffled).unwrap();
    std::fs::write(path, w.into_bytes()).unwrap();
    let mut r = KaldiReader::open_raw(path).unwrap();
    r.set_binary(true);
    let file = store::read_look_ahead_file(&mut r).unwrap();
    std::fs::remove_file(path).unwrap();
    assert!(matches!(file, LookAheadFile::File(..)));
    file
}

#[test]
fn a_graph_that_stays_in_its_file_has_the_same_paths() {
    for seed in 0..40 {
        let mut rng = Rng::with_seed(seed);
        let (hcl, ngrams) = (look_ahead(random_hcl(&mut rng)), random_bigram(&mut rng));
        let (rows, cols) = (8, TRANSITION_IDS as usize);
        let data = (0..rows * cols).map(|_| -rng.f32() * 5.0).collect();
        let loglikes = DenseMatrix { rows, cols, data };
        let found = [in_file("paths", &hcl), hcl.into()].map(|hcl| {
            let grammar = Grammar::Ngrams(ngrams.clone());
            let pair = GraphPair::new(hcl, grammar, &[DISAMBIGUATION], cols).unwrap();
            search(ComposedGraph::new(&pair), &loglikes)
        });
        // (Sums over paths depend on the order of arcs.)
        let [in_file, in_memory] =
            found.map(|found| found.map(|(words, ids, cost, total)| ((words, ids, cost), total)));
        assert_eq!(
            in_file.as_ref().map(|found| &found.0),
            in_memory.as_ref().map(|found| &found.0),
            "seed {seed}"
        );
        let totals = [in_file, in_memory].map(|found| found.map_or(0.0, |found| found.1));
        assert!((totals[0] - totals[1]).abs() < 1e-6, "seed {seed}: {totals:?}");
    }
}

/// The error names the file when a search comes to the state.
#[test]
fn a_graph_in_its_file_of_another_model() {
    let mut rng = Rng::with_seed(1);
    let (mut hcl, ngrams) = (look_ahead(random_hcl(&mut rng)), random_bigram(&mut rng));
    hcl.fst.arcs.iter_mut().for_each(|arc| arc.ilabel = DISAMBIGUATION);
    let file = in_file("labels", &hcl);
    let pair = GraphPair::new(file, Grammar::Ngrams(ngrams), &[], TRANSITION_IDS as usize).unwrap();
    let mut graph = ComposedGraph::new(&pair);
    let start = graph.start().unwrap();
    let error = graph.visit(start).unwrap_err().to_string();
    assert!(error.contains("composed-labels") && error.contains("transition-id 7"), "{error}");
}

/// The early cost is that of two words together, or of the end if that is lower; what is paid is rounded to 1/1024.
#[test]
fn early_costs() {
    let arc = |ilabel, olabel, weight, next| Arc { ilabel, olabel, weight, next };
    let mut hcl = Fst::default();
    (0..4).for_each(|_| _ = hcl.add_state());
    hcl.start = Some(0);
    hcl.states[0].arcs = vec![arc(1, EPSILON, 0.25, 1)];
    hcl.states[1].arcs = vec![arc(2, 1, 0.0, 2), arc(3, 2, 0.0, 2)];
    hcl.states[1].final_weight = 0.0;
    hcl.states[2].final_weight = 0.0;
    for (ending, early) in [(0.5, 0.5), (2.0, 0.686_738_4), (f32::INFINITY, 0.686_738_4)] {
        let mut g = Fst::default();
        (0..2).for_each(|_| _ = g.add_state());
        g.start = Some(0);
        g.states[0].arcs = vec![arc(1, 1, 1.0, 1), arc(2, 2, 2.0, 1)];
        g.states[0].final_weight = ending;
        g.states[1].final_weight = 0.0;
        let grammar: Grammar = FlatFst::from(&g).into();
        let pair = GraphPair::new(look_ahead(hcl.clone()), grammar, &[], TRANSITION_IDS as usize).unwrap();
        let mut graph = ComposedGraph::new(&pair);
        let start = graph.start().unwrap();
        graph.visit(start).unwrap();
        let [first] = graph.emitting(start).collect::<Vec<_>>()[..] else { panic!("one arc was expected") };
        assert!((first.weight - (0.25 + early)).abs() < 1e-6, "{ending}: {first:?}");
        let paid = (early * 1024.0).round() / 1024.0;
        graph.visit(first.next).unwrap();
        let words: Vec<f32> = graph.emitting(first.next).map(|arc| arc.weight).collect();
        assert_eq!(words, [1.0 - paid, 2.0 - paid], "{ending}");
        assert_eq!(graph.final_cost(first.next).unwrap(), ending - paid);
    }
}

/// States that are forgotten in the middle are found again.
#[test]
fn forgetting() {
    let mut rng = Rng::with_seed(3);
    let (hcl, ngrams) = (random_hcl(&mut rng), random_bigram(&mut rng));
    let pair =
        GraphPair::new(look_ahead(hcl), Grammar::Ngrams(ngrams), &[DISAMBIGUATION], TRANSITION_IDS as usize);
    let pair = pair.unwrap();
    let mut graph = ComposedGraph::new(&pair);
    let start = graph.start().unwrap();
    graph.visit(start).unwrap();
    let first = graph.epsilons(start).chain(graph.emitting(start)).next().unwrap();
    let emitting = |graph: &mut ComposedGraph<&GraphPair>, state| {
        graph.visit(state).unwrap();
        graph.emitting(state).collect::<Vec<Arc>>()
    };
    let mut kept = [first.next, start];
    let [of_first, of_start] = kept.map(|state| emitting(&mut graph, state));
    let number = graph.num_states();
    graph.forget_others(&mut kept.iter_mut()).unwrap();
    assert_eq!((kept, graph.num_states()), ([0, 1], 2));
    let same = |a: &[Arc], b: &[Arc]| {
        let shown = |arc: &Arc| (arc.ilabel, arc.olabel, arc.weight);
        a.iter().map(shown).eq(b.iter().map(shown))
    };
    assert!(same(&emitting(&mut graph, 0), &of_first) && same(&emitting(&mut graph, 1), &of_start));
    assert!(graph.num_states() <= number && graph.start() == Some(1));
}

#[test]
fn words_that_a_table_lacks() {
    let mut rng = Rng::with_seed(2);
    let (hcl, ngrams) = (random_hcl(&mut rng), random_bigram(&mut rng));
    let words: Vec<i32> = ngrams.words.clone();
    let pair =
        GraphPair::new(look_ahead(hcl), Grammar::Ngrams(ngrams), &[DISAMBIGUATION], TRANSITION_IDS as usize);
    let pair = pair.unwrap();
    assert_eq!(pair.unknown_word(|word| words.contains(&word)), None);
    for word in words {
        assert_eq!(pair.unknown_word(|other| other != word), Some(word));
    }
}

#[test]
fn a_graph_of_another_model() {
    let mut rng = Rng::with_seed(1);
    let (hcl, ngrams) = (random_hcl(&mut rng), random_bigram(&mut rng));
    let error =
        GraphPair::new(look_ahead(hcl), Grammar::Ngrams(ngrams), &[], TRANSITION_IDS as usize).unwrap_err();
    assert!(matches!(error, Error::GraphLabel { label: DISAMBIGUATION, last: 6, .. }), "{error}");
}
