//! The first alignment, from which training begins.

use std::num::NonZero;

use kaldi_align::equal::{equal_path, paused_path};
use kaldi_align::loudness::Loudness;
use kaldi_align::network::{Builder, Model, Network, TransitionScales};
use kaldi_align::phone_graph::{LexiconGraph, NO_WORD};
use kaldi_align::random::Numbers;
use kaldi_align::recipe::Stage;
use kaldi_align::utterance::Corpus;
use kaldi_align::{Event, Recipe, Utterance, train};
use kaldi_gmm::AmDiagGmm;
use kaldi_gmm::global::GlobalMean;
use kaldi_hmm::TransitionModel;
use kaldi_io::DenseMatrix;
use kaldi_lang::{Lang, LangOptions, Lexicon, TopologyKind};

use crate::speech;

fn model(lang: &Lang) -> Model {
    let topology = lang.topology.clone().unwrap();
    let tree = kaldi_tree::stub::monophone(&lang.sets, &topology, &mut |_| ()).unwrap();
    let transitions = TransitionModel::new(&tree, topology).unwrap();
    let mut mean = GlobalMean::new(1);
    [0.0, 1.0].iter().for_each(|x| mean.add(&[*x]).unwrap());
    let gmms = AmDiagGmm::flat(&mean.gaussian().unwrap(), tree.num_pdfs()).unwrap();
    Model { transitions, tree, gmms }
}

fn network(lang: &Lang, model: &Model, words: &[&str]) -> Network {
    let words: Vec<u32> = words.iter().map(|word| lang.word(word) as u32).collect();
    let graph = LexiconGraph::new(lang).unwrap().transcript(&words).unwrap();
    Builder::new(model.hmms(), TransitionScales { transition: 1.0, self_loop: 0.1 }).network(&graph).unwrap()
}

/// For each frame, the phone of a path.
fn phones(lang: &Lang, model: &Model, ids: &[i32]) -> Vec<String> {
    let ids = model.transitions.transition_ids(ids).unwrap();
    ids.into_iter().map(|id| lang.base_phone(model.transitions.phone(id)).to_owned()).collect()
}

/// Phones with the frames at which they end.
fn ends(phones: &[String]) -> Vec<(String, usize)> {
    let mut end = 0;
    phones
        .chunk_by(|a, b| a == b)
        .map(|part| {
            end += part.len();
            (part[0].clone(), end)
        })
        .collect()
}

#[test]
fn quiet_stretches_become_silence_at_the_nearest_word_boundary() {
    let lang = speech::lang();
    let model = model(&lang);
    let network = network(&lang, &model, &["da", "bad", "e", "deck"]);
    // Nine phones share 90 frames; the third stretch is nearest to the boundary between "bad" and "e".
    let stretches = [0..20, 72..100, 138..150];
    for draw in 0..5 {
        let mut numbers = Numbers::of_key("utterance", draw);
        let ids = (0..20).find_map(|_| paused_path(&network, 4, &stretches, 150, &mut numbers)).unwrap();
        let found = ends(&phones(&lang, &model, &ids));
        let wanted = [("SIL", 20), ("d", 30), ("a", 41), ("b", 51), ("a", 62), ("d", 72), ("SIL", 100)];
        for ((phone, end), (want, ends)) in found.iter().zip(wanted) {
            assert!(phone == want && end.abs_diff(ends) <= 3, "{found:?}");
        }
        assert_eq!(found[found.len() - 2..], [("k".to_owned(), 138), ("SIL".to_owned(), 150)]);
    }
}

#[test]
fn a_path_without_stretches_has_no_silence_and_equal_states() {
    let lang = speech::lang();
    let model = model(&lang);
    let network = network(&lang, &model, &["da", "e"]);
    let mut numbers = Numbers::of_key("utterance", 0);
    let ids = paused_path(&network, 2, &[], 27, &mut numbers).unwrap();
    let found: Vec<(String, usize)> = ends(&phones(&lang, &model, &ids));
    assert_eq!(found, [("d".to_owned(), 9), ("a".to_owned(), 18), ("e".to_owned(), 27)]);
    assert!(
        paused_path(&network, 2, std::slice::from_ref(&(0..20)), 27, &mut numbers).is_none(),
        "7 frames for 9 states"
    );
    assert!(equal_path(&network, 8, &mut numbers).is_none(), "8 frames for 9 states");
    let silences = |draw| {
        let ids = equal_path(&network, 200, &mut Numbers::of_key("utterance", draw)).unwrap();
        phones(&lang, &model, &ids).iter().filter(|phone| *phone == "SIL").count()
    };
    let counts: std::collections::BTreeSet<usize> = (0..10).map(silences).collect();
    assert!(counts.len() > 2, "all draws are alike");
    assert!(network.instances.iter().any(|instance| instance.word == NO_WORD));
}

/// Begins and ends of the words of an utterance.
type Ranges = Vec<(usize, usize)>;

/// Two words of one phone each, with pauses between them that are louder in none of the first cepstra but the first one.
fn two_words() -> (Lang, Vec<Utterance>, Vec<Ranges>) {
    let (lexicon, _) = Lexicon::parse("no n\nyes y\n", "lexicon").unwrap();
    let options = LangOptions { topology: TopologyKind::Hmm, ..LangOptions::default() };
    let lang = Lang::new(&lexicon, &options).unwrap();
    let mut numbers = fastrand::Rng::with_seed(11);
    let (mut utterances, mut times) = (Vec::new(), Vec::new());
    for number in 0..8 {
        let (mut data, mut words, mut of_words, mut t) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let mut put = |count: usize, mean: [f32; 3], t: &mut usize, numbers: &mut fastrand::Rng| {
            for _ in 0..count {
                data.extend(mean.iter().map(|x| x + 2.0 * (numbers.f32() - 0.5)));
                *t += 1;
            }
        };
        put(numbers.usize(40..90), [-8.0, 0.0, 0.5], &mut t, &mut numbers);
        for _ in 0..6 {
            let (word, mean) = [("no", [2.0, 3.0, 0.0]), ("yes", [3.0, -1.0, 2.0])][numbers.usize(0..2)];
            words.push(lang.word(word) as u32);
            let begin = t;
            put(numbers.usize(30..50), mean, &mut t, &mut numbers);
            of_words.push((begin, t));
            put(numbers.usize(8..50), [-8.0, 0.0, 0.5], &mut t, &mut numbers);
        }
        let features = DenseMatrix { rows: t, cols: 3, data };
        utterances.push(Utterance {
            key: format!("utt{number}"),
            speaker: "one".to_owned(),
            features,
            words,
        });
        times.push(of_words);
    }
    (lang, utterances, times)
}

#[test]
fn words_of_one_phone_are_not_exchanged_with_silence() {
    let (lang, utterances, times) = two_words();
    let stages = vec![Stage { iterations: 15, last_increase: 10, ..Stage::monophones(30) }];
    let recipe = Recipe { stages, ..Recipe::default() };
    let one = NonZero::new(1).unwrap();
    let mut tried = Vec::new();
    let mut observer = |event: Event| {
        if let Event::Message(text) = event {
            tried.extend(text.rsplit_once("log-likelihood of a frame ").map(|parts| parts.1.to_owned()));
        }
    };
    let trained = train(&lang, &utterances, &recipe, one, &mut observer).unwrap();
    assert_eq!(tried.len(), 8, "little speech is begun with in eight ways");
    let aligned = trained.system.align(&lang, &utterances, one, &mut |_: Event| ()).unwrap();
    for (result, times) in aligned.results.iter().zip(&times) {
        for (word, (begin, end)) in result.as_ref().unwrap().words.iter().zip(times) {
            let is_near = word.begin.abs_diff(*begin) <= 2 && word.end.abs_diff(*end) <= 2;
            assert!(is_near, "{word:?} should be from {begin} to {end}");
        }
    }
}

#[test]
fn pauses_are_quiet_and_stops_are_not() {
    let levels: &[(usize, f32)] =
        &[(30, 20.0), (40, 80.0), (8, 25.0), (40, 70.0), (30, 21.0), (60, 75.0), (10, 22.0)];
    let data: Vec<f32> = levels.iter().flat_map(|&(count, level)| vec![level; count]).collect();
    let features = DenseMatrix { rows: data.len(), cols: 1, data };
    let utterances = vec![Utterance {
        key: "a".to_owned(),
        speaker: "s".to_owned(),
        features: features.clone(),
        words: Vec::new(),
    }];
    let corpus = Corpus::new(&utterances, 1);
    let found = Loudness::of(&corpus).stretches(0, &features);
    let wanted = [0..30, 118..148, 208..218];
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(&wanted) {
        assert!(found.start.abs_diff(wanted.start) <= 1 && found.end.abs_diff(wanted.end) <= 1, "{found:?}");
    }
}
