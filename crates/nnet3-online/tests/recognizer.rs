//! Sound in pieces of any size against whole utterances, with a small random network and a loop over four phones.

#![allow(clippy::disallowed_methods)] // A test may panic if there is no thread.

use std::collections::BTreeSet;
use std::sync::Arc;

use kaldi_feat::spectral::{EnergyOptions, Extractor, FrameOptions, Kind, MelOptions, SpectralOptions};
use kaldi_fst::Fst;
use kaldi_fst::store::{Names, Symbols};
use kaldi_hmm::{ContextDependency, HmmTopology, TransitionModel};
use kaldi_io::{KaldiObject, KaldiReader};
use kaldi_online::endpoint::EndpointOptions;
use kaldi_online::silence::SilenceWeightingOptions;
use kaldi_online::{PipelineModel, Speaker};
use nnet3_core::config::parse_config;
use nnet3_core::forward::{Ivectors, LoopedForward, Streaming};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_core::random::Random;
use nnet3_decode::decoder::{LatticeDecoder, MatrixDecodable, SearchGraph, SearchOptions};
use nnet3_decode::{Lattice, path};
use nnet3_online::server::{Conversation, Event, Host, converse};
use nnet3_online::{
    Model, ModelParts, Recognizer, RecognizerOptions, Result, State, Stream, Transcript, Word,
};

#[path = "recognizer/lexicon.rs"]
mod lexicon;
#[path = "recognizer/phrases.rs"]
mod phrases;
#[path = "recognizer/recording.rs"]
mod recording;

const FACTOR: usize = 3;

fn read<T: KaldiObject>(text: &str) -> T {
    T::read(&mut KaldiReader::from_bytes("test", text.as_bytes().to_vec())).unwrap()
}

fn transitions() -> TransitionModel {
    let topology: HmmTopology = read(
        "<Topology> <TopologyEntry> <ForPhones> 1 2 3 4 </ForPhones> <State> 0 <PdfClass> 0 <Transition> 0 0.5 \
         <Transition> 1 0.5 </State> <State> 1 </State> </TopologyEntry> </Topology> ",
    );
    let tree: ContextDependency =
        read("ContextDependency 1 0 ToPdf TE 0 5 ( NULL CE 0 CE 1 CE 2 CE 3 ) EndContextDependency ");
    TransitionModel::new(&tree, topology).unwrap()
}

/// A graph in which each phone is a word, one after another; only after phone 1 an utterance can end.
fn graph(model: &TransitionModel) -> SearchGraph {
    SearchGraph::new((&loop_over_phones(model)).into(), model.num_transition_ids()).unwrap()
}

fn loop_over_phones(model: &TransitionModel) -> Fst {
    let mut fst = Fst::default();
    let between = fst.add_state();
    fst.start = Some(between);
    for phone in 1..=4 {
        let [repeated, left] = [true, false].map(|is_loop| {
            let mut ids =
                model.ids().filter(|&id| model.phone(id) == phone && model.is_self_loop(id) == is_loop);
            ids.next().unwrap().get() as i32
        });
        let state = fst.add_state();
        let mut arc = |from: u32, ilabel, olabel, weight, next| {
            fst.state_mut(from).arcs.push(kaldi_fst::Arc { ilabel, olabel, weight, next });
        };
        arc(between, left, phone, 1.5, state);
        arc(state, repeated, 0, 0.5, state);
        arc(state, 0, 0, 0.25, between);
        fst.state_mut(state).final_weight = if phone == 1 { 0.75 } else { f32::INFINITY };
    }
    fst
}

fn network(feature_dim: usize) -> LoopedForward {
    let config = format!(
        "input-node name=input dim={feature_dim}
         component name=a type=AffineComponent input-dim={} output-dim=6 param-stddev=0.2
         component-node name=a component=a input=Append(Offset(input, -2), input, Offset(input, 2))
         component name=relu type=RectifiedLinearComponent dim=6
         component-node name=relu component=relu input=a
         component name=b type=AffineComponent input-dim=6 output-dim=4 param-stddev=1.0
         component-node name=b component=b input=relu
         output-node name=output input=b",
        3 * feature_dim
    );
    let mut nnet = Nnet::default();
    let lines = parse_config("test", config.lines()).unwrap();
    nnet.read_config(lines, &Random::new(1)).unwrap();
    let streaming = Streaming {
        frames_per_chunk: 6,
        frame_subsampling_factor: FACTOR as i32,
        extra_left_context_initial: 0,
    };
    let options = OptimizeOptions::default();
    LoopedForward::new(nnet, &nnet3_matrix::cpu(), &streaming, 1.0, &options).unwrap()
}

fn features() -> SpectralOptions {
    SpectralOptions {
        frames: FrameOptions { dither: 0.0, ..FrameOptions::default() },
        mel: MelOptions { bins: 3, ..MelOptions::default() },
        energy: EnergyOptions { used: false, floor: 0.0, raw: true, htk_compat: false },
        kind: Kind::Fbank { log: true, power: true },
    }
}

fn model(features: SpectralOptions, network: LoopedForward, graph: SearchGraph) -> Result<Model> {
    Model::from_parts(parts(features, network, graph))
}

fn parts(features: SpectralOptions, network: LoopedForward, graph: SearchGraph) -> ModelParts {
    ModelParts {
        is_trained: true,
        transitions: Arc::new(transitions()),
        features: Arc::new(PipelineModel::new(features, None).unwrap()),
        silence_weighting: SilenceWeightingOptions {
            silence_phones: BTreeSet::new(),
            silence_weight: 1.0,
            max_state_duration: -1,
        },
        network: network.program().clone(),
        graph: graph.into(),
        phrases: None,
        names: None,
        boundaries: None,
        speaker: Speaker::default(),
        observer: None,
        options: RecognizerOptions::default(),
    }
}

/// A stream of the small network and the loop over phones, which looks for endpoints by these rules.
fn stream(endpoint: Option<EndpointOptions>) -> Stream {
    let model = model(features(), network(3), graph(&transitions())).unwrap();
    Stream::new(&model, &RecognizerOptions { endpoint, ..RecognizerOptions::default() }).unwrap()
}

/// The model of the small network and the loop over phones, with names of its words.
fn model_with_words() -> Model {
    let words = b"<eps> 0\none 1\ntwo 2\nthree 3\nfour 4\n".to_vec();
    let symbols = Symbols::read_text(&mut KaldiReader::from_bytes("words", words), "words").unwrap();
    let names = Some(Names::try_from(&symbols).unwrap());
    let parts = parts(features(), network(3), graph(&transitions()));
    Model::from_parts(ModelParts { names, ..parts }).unwrap()
}

/// Tones that come and go.
fn signal(samples: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    let loudness: Vec<f32> = (0..samples / 1500 + 1).map(|_| 3000.0 * random.f32()).collect();
    (0..samples).map(|i| loudness[i / 1500] * (i as f32 * 0.07).sin() + random.f32() * 200.0).collect()
}

/// The best path of a whole utterance: transition-ids, words and cost.
type Best = (Vec<i32>, Vec<i32>, f32);

fn best(lattice: &Lattice) -> Best {
    let best = path::read_linear(&path::best_path(lattice)).unwrap();
    (best.ids, best.words, best.weight.graph + best.weight.acoustic)
}

fn whole(graph: &SearchGraph, signal: &[f32]) -> (usize, Best) {
    let features = Extractor::new(features()).unwrap().features(signal, 16000.0, 1.0).unwrap();
    let loglikes = network(3).compute(&features, Ivectors::None).unwrap();
    let pdfs = transitions().pdfs().clone();
    let mut decoder = LatticeDecoder::new(graph.unvisited(), SearchOptions::default()).unwrap();
    assert!(decoder.decode(&MatrixDecodable::new(&loglikes, &pdfs, 1.0).unwrap()).unwrap());
    (loglikes.rows, best(&decoder.raw_lattice().unwrap()))
}

fn endpoint() -> EndpointOptions {
    EndpointOptions { silence_phones: BTreeSet::from([1]), rules: EndpointOptions::RULES }
}

#[test]
fn pieces_give_what_whole_utterances_do() {
    let graph = graph(&transitions());
    let mut recognizer = stream(None);
    assert_eq!(recognizer.output_frame_length(), 0.01 * 3.0);
    for (samples, seed) in [(16000, 1), (9000, 2), (700, 3)] {
        let signal = signal(samples, seed);
        let (frames, expected) = whole(&graph, &signal);
        for piece in [160, 3001, 100_000] {
            recognizer.begin(Speaker::default()).unwrap();
            let mut decoded = 0;
            for (i, samples) in signal.chunks(piece).enumerate() {
                match (i + 1) * piece >= signal.len() {
                    true => _ = recognizer.accept_last(16000.0, samples).unwrap(),
                    false => _ = recognizer.accept(16000.0, samples).unwrap(),
                }
                assert!(recognizer.frames_decoded() >= decoded);
                decoded = recognizer.frames_decoded();
                let (path, state) = (recognizer.best_path(), recognizer.progress(&endpoint()).unwrap());
                assert_eq!((path.len(), state.decoded), (decoded, decoded));
                let phones = transitions();
                let silence = path.iter().rev().take_while(|&&id| phones.phone(id) == 1).count();
                assert_eq!(state.trailing_silence, silence);
            }
            assert!(recognizer.accept_last(16000.0, &[1.0]).is_err());
            assert_eq!((decoded, recognizer.finish().unwrap()), (frames, true));
            assert_eq!(
                best(&recognizer.raw_lattice().unwrap()),
                expected,
                "{samples} samples in pieces of {piece}"
            );
            assert_eq!(recognizer.speaker().unwrap(), Speaker::default());
        }
    }
}

/// An utterance that a rule ends early has the lattice of the frames so far.
#[test]
fn endpoints_and_early_ends() {
    let mut rules = endpoint();
    rules.rules[4].min_utterance_length = 0.29;
    let mut recognizer = stream(Some(rules));
    let signal = signal(16000, 4);
    let mut taken = 0;
    for samples in signal.chunks(800) {
        let state = recognizer.accept(16000.0, samples).unwrap();
        taken += samples.len();
        if state == (State::Endpoint { rule: 4 }) {
            break;
        }
    }
    // The first ten output frames in chunks of two: 30 input frames, plus 2 frames of context.
    assert_eq!((recognizer.frames_decoded(), taken), (10, 5600));
    let until_now = recognizer.best_path().len();
    assert!(recognizer.finish().unwrap());
    assert_eq!(best(&recognizer.raw_lattice().unwrap()).0.len(), until_now);
    assert!(recognizer.accept(16000.0, &signal).unwrap_err().to_string().contains("after the end"));
    // An utterance without samples.
    recognizer.begin(Speaker::default()).unwrap();
    recognizer.accept_last(16000.0, &[]).unwrap();
    assert_eq!((recognizer.frames_decoded(), recognizer.best_path().len()), (0, 0));
}

/// Sentences of a sound follow each other without a gap, and recognisers on several threads share a model.
#[test]
fn sentences_and_sessions() {
    let model = model_with_words();
    let mut rules = endpoint();
    rules.rules[4].min_utterance_length = 0.29;
    let options =
        RecognizerOptions { endpoint: Some(rules), keep_lattice: true, ..RecognizerOptions::default() };
    let signal = signal(16000, 4);
    let sentences = |model: &Model| -> Vec<Transcript> {
        let mut recognizer = Recognizer::new(model, 16000.0, &options).unwrap();
        let mut sentences = Vec::new();
        assert_eq!(recognizer.partial().unwrap(), "");
        for samples in signal.chunks(800) {
            if let State::Endpoint { rule } = recognizer.accept(samples).unwrap() {
                assert!(rule == 4 && !recognizer.partial().unwrap().is_empty());
                sentences.push(recognizer.result().unwrap());
            }
        }
        sentences.push(recognizer.finish().unwrap());
        sentences
    };
    let found = sentences(&model);
    // As in the test above each sentence has ten frames of 480 samples, but one sample less by the rounding of 0.03 s. The
    // 1603 samples that remain are 8 frames of input.
    let begins: Vec<(f64, usize)> =
        found.iter().map(|sentence| (sentence.start * 16000.0, sentence.frames)).collect();
    assert_eq!(begins, [(0.0, 10), (4799.0, 10), (9598.0, 10), (14397.0, 3)]);
    for (k, sentence) in found.iter().enumerate() {
        assert!(sentence.warnings.is_empty() && !sentence.words.is_empty());
        let end = sentence.start + 0.03 * sentence.frames as f64;
        for word in &sentence.words {
            assert!(["one", "two", "three", "four"].contains(&&*word.text), "{word:?}");
            assert!(
                sentence.start <= word.start && word.start <= word.end && word.end < end + 1e-6,
                "{word:?}"
            );
            assert!((0.0..=1.0).contains(&word.confidence), "{word:?}");
        }
        // The lattice is that of the samples of the sentence alone: those of the last chunk that has 2 frames of context.
        let first = 4799 * k;
        let last = if k < 3 { first + 5600 } else { signal.len() };
        let mut alone = stream(None);
        match k {
            3 => _ = alone.accept_last(16000.0, &signal[first..last]).unwrap(),
            _ => _ = alone.accept(16000.0, &signal[first..last]).unwrap(),
        }
        assert!(alone.finish().unwrap());
        let lattice = sentence.lattice.as_ref().unwrap();
        assert_eq!(path::best_linear(lattice).unwrap().words, best(&alone.raw_lattice().unwrap()).1);
    }
    std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..3).map(|_| scope.spawn(|| sentences(&model.clone()))).collect();
        for session in sessions {
            let same = session.join().unwrap();
            assert!(
                same.iter().map(|sentence| &sentence.words).eq(found.iter().map(|sentence| &sentence.words))
            );
        }
    });
}

/// The search hears zeros before and after the sound; words, times and lattices are those of the sound itself.
#[test]
fn silence_around_a_sound_is_heard_and_not_seen() {
    let model = model_with_words();
    let mut rules = endpoint();
    rules.rules[4].min_utterance_length = 0.59;
    let options = RecognizerOptions {
        endpoint: Some(rules),
        keep_lattice: true,
        alternatives: 3,
        ..RecognizerOptions::default()
    };
    let sentences = |edge_silence: f64, sound: &[f32]| -> Vec<Transcript> {
        let options = RecognizerOptions { edge_silence, ..options.clone() };
        let mut recognizer = Recognizer::new(&model, 16000.0, &options).unwrap();
        let mut sentences = Vec::new();
        for samples in sound.chunks(800) {
            if let State::Endpoint { .. } = recognizer.accept(samples).unwrap() {
                sentences.push(recognizer.result().unwrap());
            }
        }
        sentences.push(recognizer.finish().unwrap());
        sentences
    };
    // 0.31 s are ten output frames and a third.
    let (edge, lead) = (0.31, 0.3);
    let sound = signal(16000, 4);
    let zeros = vec![0.0; 4800];
    let (found, around) = (sentences(edge, &sound), sentences(0.0, &[&zeros[..], &sound, &zeros].concat()));
    assert_eq!(found.len(), around.len());
    assert!(found.len() > 2);
    for (i, (found, around)) in found.iter().zip(&around).enumerate() {
        assert_eq!(found.frames, around.frames);
        assert!(
            (found.lattice_start - (around.start - lead)).abs() < 1e-9
                && found.start == found.lattice_start.max(0.0)
        );
        let path = |one: &Transcript| path::best_linear(one.lattice.as_ref().unwrap()).unwrap();
        assert_eq!(path(found).ids, path(around).ids);
        assert!(!found.words.is_empty() && found.alternatives.len() > 1);
        let sequences = |one: &Transcript| -> Vec<Vec<Word>> {
            [one.words.clone()].into_iter().chain(one.alternatives.iter().map(|a| a.words.clone())).collect()
        };
        for (found, mut around) in sequences(found).into_iter().zip(sequences(around)) {
            // What begins and ends in the silence before or after the sound is no word.
            around.retain(|word| word.end > lead && word.start < lead + 1.0);
            let text = nnet3_online::text;
            assert_eq!(text(&found), text(&around), "{i}");
            for (word, heard) in found.iter().zip(&around) {
                let within = |time: f64| (time - lead).clamp(0.0, 1.0);
                assert!(
                    (word.start - within(heard.start)).abs() < 1e-6
                        && (word.end - within(heard.end)).abs() < 1e-6,
                    "{i}: {word:?} {heard:?}"
                );
            }
        }
    }
    // A sound that is too short for a frame has no words; none at all is none.
    for samples in [0, 5, 300] {
        let nothing = sentences(edge, &sound[..samples]);
        assert_eq!((nothing.len(), nothing[0].frames, nothing[0].words.len()), (1, 0, 0));
    }
    assert!(sentences(edge, &sound[..500])[0].frames > 20);
}

#[test]
fn what_does_not_fit() {
    let options = RecognizerOptions::default();
    let recognizer =
        |features, network| Stream::new(&model(features, network, graph(&transitions()))?, &options);
    let error = recognizer(features(), network(4)).err().unwrap().to_string();
    assert!(error.contains("dimension 4") && error.contains("have 3"), "{error}");
    let mut other = recognizer(features(), network(3)).unwrap();
    let error = other.accept(8000.0, &[1.0; 10]).unwrap_err().to_string();
    assert!(error.contains("8000"), "{error}");
    // The sound that arrives at once is longer than the features that are kept.
    let mut few = features();
    few.frames.max_feature_vectors = Some(201);
    let mut few = recognizer(few, network(3)).unwrap();
    let error = few.accept(16000.0, &signal(160_000, 5)).unwrap_err().to_string();
    assert!(error.contains("frame 0 is needed, but was discarded (see `max-feature-vectors`)"), "{error}");
    few.begin(Speaker::default()).unwrap();
    for samples in signal(160_000, 5).chunks(1600) {
        few.accept(16000.0, samples).unwrap();
    }
    // Energies are infinite, and sums of infinite activations are not a number.
    let mut nan = recognizer(features(), network(3)).unwrap();
    let loud: Vec<f32> = signal(4000, 6).iter().map(|x| x * 1e30).collect();
    let error = nan.accept_last(16000.0, &loud).unwrap_err().to_string();
    assert!(error.contains("output for frame 0 is not a number"), "{error}");
    let empty = SearchGraph::new((&Fst::default()).into(), 8).unwrap();
    let empty = model(features(), network(3), empty).unwrap();
    let error = Stream::new(&empty, &options).err().unwrap().to_string();
    assert!(error.contains("the graph is empty"), "{error}");
}

/// A client: what it sends, piece by piece (a pause between two), and what it gets.
struct Client {
    pieces: std::collections::VecDeque<Vec<u8>>,
    pausing: bool,
    got: Vec<u8>,
    is_deaf: bool,
}

impl std::io::Read for Client {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if std::mem::take(&mut self.pausing) {
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        let Some(piece) = self.pieces.front_mut() else { return Ok(0) };
        let count = piece.len().min(buffer.len());
        buffer[..count].copy_from_slice(&piece[..count]);
        piece.drain(..count);
        if piece.is_empty() {
            self.pieces.pop_front();
            self.pausing = !self.pieces.is_empty();
        }
        Ok(count)
    }
}

impl std::io::Write for Client {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.is_deaf {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        }
        self.got.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Default)]
struct Events(Vec<Event>);

impl Host for Events {
    fn word(&self, id: i32) -> Option<String> {
        (id < 2).then(|| format!("word{id}"))
    }

    fn event(&mut self, event: Event) {
        self.0.push(event);
    }
}

#[test]
fn conversations() {
    let mut recognizer = stream(Some(endpoint()));
    let rules = Conversation {
        chunk: 1000,
        rate: 16000.0,
        output_period: 1500,
        longest: 100_000,
        patience: None,
        produce_time: true,
    };
    let bytes: Vec<u8> = signal(9000, 7).iter().flat_map(|&sample| (sample as i16).to_le_bytes()).collect();
    let mut talk = |pieces: Vec<Vec<u8>>, is_deaf: bool, longest: u64| {
        let mut client = Client { pieces: pieces.into(), pausing: false, got: Vec::new(), is_deaf };
        let mut events = Events::default();
        converse(&mut recognizer, &mut client, &Conversation { longest, ..rules.clone() }, &mut events)
            .unwrap();
        (String::from_utf8(client.got).unwrap(), events.0)
    };
    // Nothing, half a sample, and too little for a frame.
    for pieces in [vec![], vec![vec![0]], vec![vec![0; 20]]] {
        assert_eq!(talk(pieces, false, 100_000).0, "\n");
    }
    let (whole, events) = talk(vec![bytes.clone()], false, 100_000);
    assert!(whole.ends_with('\n') && whole.contains('\r'), "{whole:?}");
    assert!(whole.starts_with("0.00 "), "{whole:?}");
    assert_eq!(events.iter().filter(|event| **event == Event::StreamOver).count(), 1);
    // A pause within a chunk makes it shorter; one in which no whole sample comes is the end.
    let (paused, events) = talk(vec![bytes[..3000].to_vec(), bytes[3000..].to_vec()], false, 100_000);
    assert!(events.contains(&Event::Timeout { bytes: 1000 }), "{events:?}");
    let last = |lines: &str| lines.split(['\r', '\n']).rfind(|line| !line.is_empty()).map(str::to_owned);
    assert_eq!(last(&paused), last(&whole));
    for (cut, left) in [(4000, 0), (2001, 1)] {
        let (ended, events) = talk(vec![bytes[..cut].to_vec(), bytes[cut..].to_vec()], false, 100_000);
        let known = |event: &&Event| !matches!(event, Event::UnknownWord(_));
        assert!(events.iter().filter(known).eq([&Event::Timeout { bytes: left }]), "{events:?}");
        assert!(ended.ends_with('\n') && ended.len() < whole.len());
    }
    // One that goes away or sends too much harms nobody.
    assert_eq!(talk(vec![bytes.clone()], true, 100_000).0, "");
    let (cut, events) = talk(vec![bytes.clone()], false, 2000);
    assert!(events.contains(&Event::TooLong) && cut.ends_with('\n'));
    assert_eq!(talk(vec![bytes], false, 100_000).0, whole);
}
