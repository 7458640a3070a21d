//! Options of models and recognisers.

use std::num::NonZero;

use kaldi_online::endpoint::EndpointOptions;
use nnet3_core::execute::Observer;
use nnet3_decode::decoder::{ChunkOptions, SearchOptions};
use nnet3_decode::determinize::PhoneOptions;
use nnet3_matrix::{CpuMath, WeightForm};

use crate::effort::Effort;
use crate::phrases::Phrases;

/// Weight of graph costs in the choice of words, as in vosk.
const GRAPH_SCALE: f64 = 0.9;

/// Makes an observer of the commands of a network.
pub type MakeObserver = fn() -> Box<dyn Observer>;

/// Options for opening a model.
#[derive(Debug, Clone)]
pub struct ModelOptions {
    /// Files in the place of those of the folder, or of a model without a folder.
    pub files: Files,
    /// The form of the network's weights.
    pub weights: WeightForm,
    /// Arithmetic of the network's products. Where bf16 would not be faster, they are in floats.
    pub math: CpuMath,
    /// Take sound at a lower rate than the model's as well. [`Model::low_rate`](crate::Model::low_rate) describes what it lacks.
    pub allow_upsample: bool,
    /// Threads that prepare the estimation of i-vectors.
    pub threads: NonZero<usize>,
    /// Observes the network, if the options of the model ask for it or `observe_always` is set.
    pub observer: Option<MakeObserver>,
    /// True if the observer sees the network in any case.
    pub observe_always: bool,
}

impl Default for ModelOptions {
    fn default() -> ModelOptions {
        ModelOptions {
            files: Files::default(),
            weights: WeightForm::Float,
            math: CpuMath::Fp32,
            allow_upsample: true,
            threads: NonZero::<usize>::MIN,
            observer: None,
            observe_always: false,
        }
    }
}

/// The files of a model (rxfilenames).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// The acoustic model, `final.mdl`.
    pub acoustic: Option<String>,
    /// The decoding graph, `HCLG.fst`.
    pub graph: Option<String>,
    /// Names of words, `words.txt`. Not needed if the graph has them.
    pub words: Option<String>,
    /// Options of the features of the network: one of these three. Without them, MFCC with the usual options.
    pub mfcc: Option<String>,
    /// `fbank.conf`.
    pub fbank: Option<String>,
    /// `plp.conf`.
    pub plp: Option<String>,
    /// Options of pitch, if the network reads pitch after the other features.
    pub pitch: Option<String>,
    /// Options of search, network and endpoints, `model.conf`.
    pub settings: Option<String>,
    /// Options of i-vectors, if the network needs them.
    pub ivectors: Option<String>,
    /// Phones that begin and end words, `word_boundary.int`: for times that are exact to the frame.
    pub word_boundary: Option<String>,
}

/// Options of a recogniser. Scale and chunks of the network belong to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct RecognizerOptions {
    /// Beams and limits of the search.
    pub search: SearchOptions,
    /// Beams and limits of the determinization of lattices.
    pub determinization: PhoneOptions,
    /// Lengths of the chunks in which lattices are determinized while the search goes on, as in vosk. `None`: a lattice is
    /// determinized when its sentence has ended.
    pub chunks: Option<ChunkOptions>,
    /// Rules for the end of a sentence. Without them the whole sound is one.
    pub endpoint: Option<EndpointOptions>,
    /// Seconds of digital silence that is heard before and after each sound. Times are those of the sound. Models of recordings that are
    /// cut close to the words say how much they need.
    pub edge_silence: f64,
    /// True for models that were also trained with sound whose upper bands are missing. With others there is a warning about such a
    /// recording.
    pub missing_bands: bool,
    /// Weight of graph costs in the choice of words and in their confidences.
    pub graph_scale: f64,
    /// True if transcripts have their lattice.
    pub keep_lattice: bool,
    /// Texts of a sentence, at most; 0 for its words alone.
    pub alternatives: usize,
    /// The phrases of which sentences consist, in the place of the model's language model.
    pub phrases: Option<Phrases>,
    /// Bounds of the work at the end of a sentence. `None`: the work is bounded by the beam and the memory of the
    /// determinization alone.
    pub effort: Option<Effort>,
}

impl Default for RecognizerOptions {
    fn default() -> RecognizerOptions {
        RecognizerOptions {
            search: SearchOptions::default(),
            determinization: PhoneOptions::default(),
            chunks: None,
            endpoint: None,
            edge_silence: 0.0,
            missing_bands: false,
            graph_scale: GRAPH_SCALE,
            keep_lattice: false,
            alternatives: 0,
            phrases: None,
            effort: None,
        }
    }
}
