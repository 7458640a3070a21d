//! Phrases beside a graph that was composed of them before, and several texts of a sentence beside a list of all paths.

use kaldi_fst::{Algebra, EPSILON, Fst, ops, store};
use kaldi_io::KaldiWriter;
use nnet3_decode::decoder::GraphPair;
use nnet3_decode::{CompactLattice, Scale, lattice};
use nnet3_online::phrases::{Ignored, Replaced, bigrams};
use nnet3_online::{Alternative, PhraseFiles, PhrasePart, Phrases, SharedGraph, json};

use super::*;

const NAMES: &[u8] = b"<eps> 0\none 1\ntwo 2\nthree 3\nfour 4\nsilent 5\n";

fn names(text: &[u8]) -> Option<Names> {
    let symbols = Symbols::read_text(&mut KaldiReader::from_bytes("words", text.to_vec()), "words").unwrap();
    Some(Names::try_from(&symbols).unwrap())
}

/// The loop over phones as a transducer; all of its states end sentences.
fn hcl() -> Fst {
    let mut hcl = loop_over_phones(&transitions());
    hcl.states.iter_mut().for_each(|state| state.final_weight = 0.0);
    hcl
}

/// A language model of all words, as a transducer from the labels of the halves to words.
fn all_words(pairs: &rustc_hash::FxHashMap<i32, i32>) -> Fst {
    let mut fst = Fst { start: Some(0), ..Fst::default() };
    fst.add_state();
    fst.state_mut(0).final_weight = 0.0;
    for word in 1..=4 {
        let ilabel = pairs.get(&word).copied().unwrap_or(word);
        fst.state_mut(0).arcs.push(kaldi_fst::Arc { ilabel, olabel: word, weight: 1.0, next: 0 });
    }
    fst
}

fn model_of(graph: SharedGraph) -> Model {
    let parts = parts(features(), network(3), super::graph(&transitions()));
    Model::from_parts(ModelParts { names: names(NAMES), graph, ..parts }).unwrap()
}

fn pair() -> Model {
    let halves = ops::look_ahead(hcl());
    let grammar = kaldi_fst::FlatFst::from(&all_words(&halves.pairs.iter().copied().collect())).into();
    model_of(GraphPair::new(halves.fst, grammar, &[], transitions().num_transition_ids()).unwrap().into())
}

fn transcript(model: &Model, options: &RecognizerOptions, signal: &[f32]) -> Transcript {
    let mut recognizer = Recognizer::new(model, 16000.0, options).unwrap();
    signal.chunks(1600).for_each(|samples| _ = recognizer.accept(samples).unwrap());
    recognizer.finish().unwrap()
}

#[test]
fn phrases_are_a_graph_composed_before() {
    let model = pair();
    let phrases = ["three three", "one nine", " ", "silent", "four four  one"];
    let grammar = model.phrases(&phrases).unwrap();
    let ignored = |phrase, word: &str, is_pathless| Ignored { phrase, word: word.to_owned(), is_pathless };
    assert_eq!(grammar.ignored(), [ignored(1, "nine", false), ignored(3, "silent", true)]);
    let other_letters = model.phrases(&["One one", "ONE"]).unwrap();
    let replaced = |phrase, word: &str| Replaced { phrase, word: word.to_owned(), by: "one".to_owned() };
    assert_eq!(other_letters.replaced(), [replaced(0, "One"), replaced(1, "ONE")]);
    assert_eq!(other_letters.ignored(), []);
    let error = model.phrases(&["Ones"]).unwrap_err().to_string();
    assert!(error.ends_with("which have 'Ones'"), "{error}");
    let expected = bigrams(&[vec![3, 3], vec![1], vec![], vec![], vec![4, 4, 1]]);
    let composed = ops::compose_transducers(&hcl(), &expected, true).unwrap();
    let composed = SearchGraph::new((&composed).into(), transitions().num_transition_ids()).unwrap();
    let composed = model_of(composed.into());
    let wide = RecognizerOptions { alternatives: 5, ..RecognizerOptions::default() };
    let options = RecognizerOptions { phrases: Some(grammar.clone()), ..wide.clone() };
    let mut several = 0;
    for seed in 0..6 {
        let signal = signal(16000, seed);
        let found = transcript(&model, &options, &signal);
        let reference = transcript(&composed, &wide, &signal);
        let texts = |transcript: &Transcript| -> Vec<String> {
            transcript.alternatives.iter().map(Alternative::text).collect()
        };
        assert_eq!((found.text(), texts(&found)), (reference.text(), texts(&reference)), "seed {seed}");
        several += usize::from(texts(&found).len() > 1);
        let pairs: Vec<_> = found.alternatives.iter().zip(&reference.alternatives).collect();
        for (a, b) in pairs {
            assert!((a.log_likelihood - b.log_likelihood).abs() < 2e-2, "{a:?}\n{b:?}");
        }
    }
    assert!(several > 3, "{several}");

    // Phrases can come and go.
    let signal = signal(16000, 1);
    let plain = transcript(&model, &RecognizerOptions::default(), &signal).text();
    let mut recognizer = Recognizer::new(&model, 16000.0, &RecognizerOptions::default()).unwrap();
    for (phrases, expected) in
        [(Some(grammar), transcript(&model, &options, &signal).text()), (None, plain.clone())]
    {
        recognizer.set_phrases(phrases).unwrap();
        recognizer.accept(&signal).unwrap();
        assert_eq!(recognizer.finish().unwrap().text(), expected);
    }
    assert!(transcript(&model, &options, &signal).text() != plain);
}

/// The first half is in files, with numbers of its own for words.
#[test]
fn phrases_beside_a_graph_with_a_language_model_are_those_of_two_halves() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let halves = ops::look_ahead(hcl());
    let mut w = KaldiWriter::create(&file("HCLr.fst"), false).unwrap();
    store::write_look_ahead(&mut w, &halves.fst).unwrap();
    w.finish().unwrap();
    let own: std::collections::BTreeMap<i32, i32> = halves.pairs.iter().copied().collect();
    let words = [(1, "one"), (2, "two"), (3, "three"), (4, "four"), (5, "silent")]
        .map(|(number, word)| format!("{word} {}\n", own.get(&number).copied().unwrap_or(number)));
    std::fs::write(file("words.txt"), format!("<eps> 0\n{}", words.concat())).unwrap();
    std::fs::write(file("disambig_tid.int"), "").unwrap();
    let files = PhraseFiles {
        hcl: file("HCLr.fst"),
        words: file("words.txt"),
        disambiguation: file("disambig_tid.int"),
    };
    // The model's words have other numbers, in another order.
    let names = names(b"<eps> 0\nfour 1\nthree 2\nsilent 3\ntwo 4\none 5\n");
    let parts = parts(features(), network(3), super::graph(&transitions()));
    let phrases = Some(PhrasePart::new(files, transitions().num_transition_ids()));
    let model = Model::from_parts(ModelParts { names, phrases, ..parts }).unwrap();
    let reference = pair();
    let given = ["three Three", "one nine", "silent", "four four  one"];
    let (found, expected) = (model.phrases(&given).unwrap(), reference.phrases(&given).unwrap());
    assert_eq!((found.ignored(), found.replaced()), (expected.ignored(), expected.replaced()));
    assert_eq!((found.ignored().len(), found.replaced().len()), (2, 1));
    let heard = |model: &Model, phrases: &Phrases, seed: u64| {
        let options = RecognizerOptions { phrases: Some(phrases.clone()), ..RecognizerOptions::default() };
        transcript(model, &options, &signal(16000, seed)).text()
    };
    for seed in 0..6 {
        let expected = heard(&reference, &expected, seed);
        assert!(!expected.is_empty() && heard(&model, &found, seed) == expected, "seed {seed}: {expected}");
    }
}

#[test]
fn phrases_that_cannot_be() {
    let model = pair();
    let error = |phrases: &[&str]| model.phrases(phrases).unwrap_err().to_string();
    assert_eq!(error(&[]), "the vocabulary of the model has no word of the phrases, which are empty");
    assert_eq!(
        error(&["a b", "c <eps>"]),
        "the vocabulary of the model has no word of the phrases, which have 'a', 'b', 'c' and 1 more"
    );
    let whole = model_of(super::graph(&transitions()).into());
    let error = whole.phrases(&["one"]).unwrap_err().to_string();
    assert!(error.contains("a graph of two halves") && error.contains("--look-ahead=true"), "{error}");
    assert_eq!(model.garbage_word(), None);
    let gaussians = parts(features(), network(3), super::graph(&transitions()));
    let gaussians =
        Model::from_parts(ModelParts { names: names(NAMES), is_trained: false, ..gaussians }).unwrap();
    let error = gaussians.phrases(&["one"]).unwrap_err().to_string();
    assert!(error.contains("this is a model of Gaussians") && !error.contains("look-ahead"), "{error}");
    let parts = parts(features(), network(3), super::graph(&transitions()));
    let model = ModelParts { names: names(b"<eps> 0\n<unk> 1\n[unk] 2\n"), ..parts };
    assert_eq!(Model::from_parts(model).unwrap().garbage_word(), Some("[unk]"));
}

/// All paths of a lattice: their words and their log-likelihoods.
fn paths(lattice: &CompactLattice) -> Vec<(Vec<i32>, f64)> {
    let mut waiting = vec![(lattice.start.unwrap(), Vec::new(), 0.0)];
    let mut found = Vec::new();
    while let Some((state, words, cost)) = waiting.pop() {
        let state = lattice.state(state);
        if !state.final_weight.is_zero() {
            let end = state.final_weight.weight;
            found.push((words.clone(), -(cost + f64::from(end.graph) + f64::from(end.acoustic))));
        }
        for arc in &state.arcs {
            let mut words: Vec<i32> = words.clone();
            words.extend(Some(arc.ilabel).filter(|&word| word != EPSILON));
            let weight = arc.weight.weight;
            waiting.push((arc.next, words, cost + f64::from(weight.graph) + f64::from(weight.acoustic)));
        }
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found
}

#[test]
fn texts_of_a_sentence() {
    let whole = SearchGraph::new((&hcl()).into(), transitions().num_transition_ids()).unwrap();
    let model = model_of(whole.into());
    let search = SearchOptions { lattice_beam: 14.0, ..SearchOptions::default() };
    let options =
        RecognizerOptions { search, alternatives: 7, keep_lattice: true, ..RecognizerOptions::default() };
    let sentence = transcript(&model, &options, &signal(4000, 2));
    let mut lattice = sentence.lattice.unwrap();
    lattice::scale(&mut lattice, Scale::new(options.graph_scale, 1.0));
    let all = paths(&lattice);
    assert!(all.len() > 7, "{}", all.len());
    let total: f64 = all.iter().map(|path| path.1.exp()).sum();
    assert_eq!(sentence.alternatives.len(), 7);
    for (found, (words, likelihood)) in sentence.alternatives.iter().zip(&all) {
        let expected: Vec<&str> = words.iter().map(|&word| model.word(word).unwrap()).collect();
        assert_eq!(found.text(), expected.join(" "));
        assert!((found.log_likelihood - likelihood).abs() < 1e-3, "{found:?} {likelihood}");
        assert!((f64::from(found.probability) - likelihood.exp() / total).abs() < 1e-3, "{found:?}");
        assert!(found.words.windows(2).all(|pair| pair[0].end <= pair[1].start + 1e-9), "{found:?}");
    }
    let shown = json::alternatives(&sentence.alternatives);
    assert_eq!(shown["alternatives"].as_array().unwrap().len(), 7);
    assert!(transcript(&model, &RecognizerOptions::default(), &signal(4000, 2)).alternatives.is_empty());
}
