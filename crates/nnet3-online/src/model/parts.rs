//! The parts of a model.

use std::sync::Arc;
use std::time::Instant;

use kaldi_fst::store::Names;
use kaldi_hmm::TransitionModel;
use kaldi_online::silence::SilenceWeightingOptions;
use kaldi_online::{PipelineModel, Speaker};
use nnet3_core::forward::LoopedProgram;
use nnet3_decode::align::WordBoundaries;

use crate::config::recognizer::RecognizerArgs;
use crate::error::Result;
use crate::first_half::PhrasePart;
use crate::graph::SharedGraph;
use crate::network::AcousticNetwork;
use crate::notice::Notice;
use crate::options::{MakeObserver, RecognizerOptions};

/// The parts of a model.
pub struct ModelParts {
    /// HMMs and their pdfs.
    pub transitions: Arc<TransitionModel>,
    /// Features of sound, with i-vectors if the network reads them.
    pub features: Arc<PipelineModel>,
    /// The weight of silence for i-vectors.
    pub silence_weighting: SilenceWeightingOptions,
    /// The network, compiled for chunks.
    pub network: Arc<LoopedProgram>,
    /// False for a model of Gaussians that is written as a network.
    pub is_trained: bool,
    /// The decoding graph.
    pub graph: SharedGraph,
    /// The first half of the graph alone, if the graph is one file and has one beside it.
    pub phrases: Option<PhrasePart>,
    /// Names of words; needed for text, not for lattices.
    pub names: Option<Names>,
    /// Phones that begin and end words, for times that are exact to the frame.
    pub boundaries: Option<WordBoundaries>,
    /// The state of a new speaker.
    pub speaker: Speaker,
    /// Observes each network that runs.
    pub observer: Option<MakeObserver>,
    /// The options of recognisers, unless a caller has others.
    pub options: RecognizerOptions,
}

impl ModelParts {
    /// Compiles a network of the CPU for chunks, and joins it with the other parts. The result has no names of words, and
    /// its recognisers find no endpoints. Also returns the notice of the compilation.
    ///
    /// # Errors
    /// Options of the network that make no sense, a network that cannot run in chunks.
    pub fn new(
        settings: &RecognizerArgs,
        network: AcousticNetwork,
        features: PipelineModel,
        silence_weighting: SilenceWeightingOptions,
        graph: SharedGraph,
    ) -> Result<(ModelParts, Notice)> {
        let AcousticNetwork { transitions, nnet, scaling, is_trained } = network;
        let (streaming, optimization) =
            (settings.looped.streaming()?, settings.looped.optimization.optimize_options()?);
        let compiling = Instant::now();
        let network = LoopedProgram::new(nnet, &nnet3_matrix::cpu(), &streaming, scaling, &optimization)?;
        let notice = Notice::Compiled(compiling.elapsed());
        let parts = ModelParts {
            transitions: Arc::new(transitions),
            features: Arc::new(features),
            silence_weighting,
            network: Arc::new(network),
            is_trained,
            graph,
            phrases: None,
            names: None,
            boundaries: None,
            speaker: Speaker::default(),
            observer: None,
            options: RecognizerOptions {
                search: settings.search.options(),
                determinization: settings.search.determinization(),
                ..RecognizerOptions::default()
            },
        };
        Ok((parts, notice))
    }
}
