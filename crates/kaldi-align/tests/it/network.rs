//! Networks and their best paths, beside the graphs of `kaldi-graph` and the search of `nnet3-decode`.

use std::num::NonZero;

use kaldi_align::network::{Builder, Model, TransitionScales};
use kaldi_align::passes::{AlignSettings, Aligner};
use kaldi_align::phone_graph::LexiconGraph;
use kaldi_align::recipe::{Beams, Stage};
use kaldi_align::{Event, Recipe, train};
use kaldi_gmm::Likelihoods;
use kaldi_graph::training::{TrainingGraphCompiler, TrainingGraphs};
use nnet3_decode::decoder::{MatrixDecodable, Pruning, SearchGraph, ViterbiDecoder};

use crate::speech::{corpus, lang};

const SCALES: TransitionScales = TransitionScales { transition: 1.0, self_loop: 0.1 };
const SCALE: f32 = 0.3;

#[test]
fn the_best_path_is_that_of_the_compiled_graph() {
    let lang = lang();
    let (utterances, _) = corpus(&lang, 60, 1);
    let short = |stage: Stage| Stage { iterations: 4, realign: vec![1, 2, 3], ..stage };
    let stages = vec![short(Stage::monophones(50)), short(Stage::triphones(30, 30))];
    let recipe = Recipe { stages, ..Recipe::default() };
    let one = NonZero::new(1).unwrap();
    let system = train(&lang, &utterances, &recipe, one, &mut |_: Event| ()).unwrap().system;
    let Model { transitions, tree, gmms } = &system.model;
    assert_eq!(tree.context_width(), 3);
    let graphs =
        TrainingGraphs { transition_scale: 1.0, self_loop_scale: 0.1, reorder: true, remove_epsilons: true };
    let compiler = TrainingGraphCompiler::new(tree, transitions, lang.l_fst(false), &[], graphs).unwrap();
    let lexicon = LexiconGraph::new(&lang).unwrap();
    let settings = AlignSettings { scales: SCALES, acoustic_scale: SCALE, beams: Beams(vec![1000.0]) };
    let mut aligner = Aligner::new(&system.model, gmms, &lexicon, &settings);
    for utterance in &utterances[..20] {
        let features = system.features.apply(&utterance.features).unwrap();
        let found = aligner.align(&features, &utterance.words).unwrap().unwrap();
        let words: Vec<i32> = utterance.words.iter().map(|&word| word as i32).collect();
        let fst = compiler.compile_words(&words).unwrap();
        let graph = SearchGraph::new((&fst).into(), transitions.num_transition_ids()).unwrap();
        let matrix = Likelihoods::new(gmms, &features).unwrap().matrix().unwrap();
        let decodable = MatrixDecodable::new(&matrix, transitions.pdfs(), SCALE).unwrap();
        let pruning = Pruning { beam: 1000.0, ..Pruning::viterbi() };
        let path = ViterbiDecoder::new(&graph, pruning).unwrap().decode(&decodable).unwrap().unwrap();
        // (States that share a pdf can have equally good paths.)
        let pdfs = |ids: &[i32]| -> Vec<i32> {
            let ids = transitions.transition_ids(ids).unwrap();
            ids.into_iter().map(|id| transitions.pdf(id)).collect()
        };
        assert_eq!(pdfs(&path.ids), pdfs(&found.path.ids));
        let (expected, cost) = (f64::from(path.weight.graph), found.path.graph);
        // (Determinization in the log semiring joins paths of the same ids.)
        assert!((expected - cost).abs() < 1e-2 * expected.abs().max(1.0), "{expected} and {cost}");
        assert!((f64::from(path.weight.acoustic) + f64::from(SCALE) * found.path.acoustic).abs() < 0.1);
    }
}

#[test]
fn the_shortest_path_has_three_frames_a_phone() {
    let lang = lang();
    let (utterances, _) = corpus(&lang, 30, 1);
    let stages = vec![Stage { iterations: 2, realign: vec![1], ..Stage::monophones(50) }];
    let recipe = Recipe { stages, ..Recipe::default() };
    let system =
        train(&lang, &utterances, &recipe, NonZero::new(1).unwrap(), &mut |_: Event| ()).unwrap().system;
    let lexicon = LexiconGraph::new(&lang).unwrap();
    let mut builder = Builder::new(system.model.hmms(), SCALES);
    for (words, phones) in [(vec!["e"], 1), (vec!["cab", "da"], 5), (vec![], 1)] {
        let words: Vec<u32> = words.into_iter().map(|word| lang.word(word) as u32).collect();
        let network = builder.network(&lexicon.transcript(&words).unwrap()).unwrap();
        // (Without words there is silence.)
        assert_eq!(
            network.min_frames(),
            if words.is_empty() { network.min_frames() } else { Some(3 * phones) }
        );
    }
}
