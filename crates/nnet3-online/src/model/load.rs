//! Reads the parts of a model, and checks that they fit each other.

use std::sync::Arc;

use kaldi_feat::cmvn::CmvnStats;
use kaldi_feat::online_cmvn::OnlineCmvnState;
use kaldi_fst::store::{Names, Symbols};
use kaldi_io::object::read_matrix;
use kaldi_online::silence::SilenceWeightingOptions;
use kaldi_online::{NetworkFeatures, PipelineModel, Speaker};
use nnet3_decode::align::WordBoundaries;

use super::ModelParts;
use super::files::{Base, GraphFiles, Pieces};
use crate::config::bands::BandArgs;
use crate::config::cmvn::OnlineCmvnArgs;
use crate::config::edges::EdgeArgs;
use crate::config::recognizer::ModelArgs;
use crate::config::spectral::{self, FbankArgs, MfccArgs, PlpArgs};
use crate::config::{pitch, read_file};
use crate::error::{Error, Result};
use crate::first_half::PhrasePart;
use crate::graph::{self, PairFiles, SharedGraph};
use crate::network::AcousticNetwork;
use crate::notice::Notice;
use crate::options::{ModelOptions, RecognizerOptions};

/// The weight of silence for i-vectors: vosk's setting.
const SILENCE_WEIGHT: f32 = 1e-3;

/// Reads all parts.
pub(super) fn parts(
    pieces: &Pieces,
    options: &ModelOptions,
    notices: &mut Vec<Notice>,
) -> Result<ModelParts> {
    let ModelArgs { recognizer: settings, incremental } = &pieces.settings;
    settings.search.check()?;
    let chunks = Some(incremental.options()?);
    let endpoint = match settings.endpoint.endpoint_silence_phones.is_empty() {
        true => None,
        false => Some(settings.endpoint.options()?),
    };
    let edge_silence = match &pieces.edges {
        Some(file) => read_file::<EdgeArgs>(file)?.seconds().map_err(Error::of(file))?,
        None => 0.0,
    };
    let missing_bands = match &pieces.bands {
        Some(file) => read_file::<BandArgs>(file)?.missing_bands,
        None => false,
    };
    let (features, speaker) = features(pieces, options)?;
    let device = nnet3_matrix::cpu_with(options.math).unwrap_or_else(|_| nnet3_matrix::cpu());
    let (acoustic, events) =
        AcousticNetwork::load(&pieces.mdl, &device, settings.acoustic_scale, options.weights)?;
    notices.extend(events);
    check_features(pieces, &features, &acoustic)?;
    let num_transition_ids = acoustic.transitions.num_transition_ids();
    let (graph, names) = graph_and_names(pieces, num_transition_ids)?;
    let phrases = match &pieces.graph {
        GraphFiles::Whole(_, files) => files.clone().map(|files| PhrasePart::new(files, num_transition_ids)),
        GraphFiles::Pair { .. } => None,
    };
    let open = |file: &String| -> Result<WordBoundaries> {
        let boundaries = WordBoundaries::load(file)?;
        boundaries.check(&acoustic.transitions).map_err(Error::of(file))?;
        Ok(boundaries)
    };
    let boundaries = pieces.word_boundary.as_ref().map(open).transpose()?;
    let silence_phones =
        endpoint.as_ref().map(|endpoint| endpoint.silence_phones.clone()).unwrap_or_default();
    let silence_weighting =
        SilenceWeightingOptions { silence_phones, silence_weight: SILENCE_WEIGHT, max_state_duration: -1 };
    let (parts, compiled) = ModelParts::new(settings, acoustic, features, silence_weighting, graph)
        .map_err(Error::of(&pieces.mdl))?;
    notices.push(compiled);
    Ok(ModelParts {
        names: Some(names),
        phrases,
        boundaries,
        speaker,
        observer: options.observer.filter(|_| options.observe_always || settings.looped.debugs()),
        options: RecognizerOptions { endpoint, chunks, edge_silence, missing_bands, ..parts.options },
        ..parts
    })
}

/// Fails if the features are others than those that the network reads.
fn check_features(pieces: &Pieces, features: &PipelineModel, acoustic: &AcousticNetwork) -> Result<()> {
    let (Base::Mfcc(config) | Base::Fbank(config) | Base::Plp(config)) = &pieces.base;
    let (made, wanted) = (features.dim(), acoustic.nnet.input_dim("input"));
    if config.is_empty() || wanted.is_none_or(|wanted| wanted == made) {
        return Ok(());
    }
    let pitch = pieces.pitch.as_ref().map_or(String::new(), |file| format!(" and {file}"));
    Err(Error::of(config)(format!(
        "the features by this file{pitch} have {made} columns, and the network in {} reads {}",
        pieces.mdl,
        wanted.unwrap_or_default()
    )))
}

/// Returns the feature settings and the initial state of a speaker.
fn features(pieces: &Pieces, options: &ModelOptions) -> Result<(PipelineModel, Speaker)> {
    let mut base = match &pieces.base {
        Base::Mfcc(config) => spectral::read::<MfccArgs>(config, config)?,
        Base::Fbank(config) => spectral::read::<FbankArgs>(config, config)?,
        Base::Plp(config) => spectral::read::<PlpArgs>(config, config)?,
    };
    // Sound at a higher rate has all that the model needs.
    base.frames.allow_downsample = true;
    base.frames.allow_upsample |= options.allow_upsample;
    let pitch = pieces.pitch.as_deref().map(|config| pitch::read(config, config)).transpose()?;
    let (mut cmvn, mut speaker) = (None, Speaker::default());
    if let Some(file) = &pieces.global_cmvn {
        let global = CmvnStats::from_matrix(&read_matrix(file)?).map_err(Error::of(file))?;
        let options: OnlineCmvnArgs = read_file(pieces.online_cmvn.as_deref().unwrap_or_default())?;
        if pieces.online_cmvn.is_none() {
            // As in vosk, the mean of the file is subtracted throughout.
            let frozen = Some(global.clone());
            speaker.cmvn = Some(OnlineCmvnState { frozen, ..OnlineCmvnState::new(global.clone()) });
        }
        cmvn = Some((options.options()?, global));
    }
    let ivectors = pieces.ivectors.as_ref().map(|args| args.read(options.threads)).transpose()?;
    let features = NetworkFeatures { base, pitch, cmvn };
    Ok((PipelineModel::new(features, ivectors.map(Arc::new))?, speaker))
}

/// Reads the graph, and the names of its words, from it or from their own file.
fn graph_and_names(pieces: &Pieces, ids: usize) -> Result<(SharedGraph, Names)> {
    let (graph, names): (SharedGraph, _) = match &pieces.graph {
        GraphFiles::Whole(file, _) => {
            let (graph, names) = graph::read_whole(file, ids)?;
            (graph.into(), names)
        }
        GraphFiles::Pair { hcl, grammar, disambiguation } => {
            let (pair, names) = graph::read_pair(PairFiles { hcl, grammar, disambiguation }, ids)?;
            (pair.into(), names)
        }
    };
    let graph_file = pieces.graph.file_of_words();
    let (names, names_file) = match (names, &pieces.words) {
        (Some(names), _) => (names, graph_file),
        (None, Some(file)) => {
            (Names::try_from(&Symbols::load(file)?).map_err(Error::of(file))?, file.as_str())
        }
        (None, None) => return Err(Error::NoNames),
    };
    graph.check_names(&names).map_err(Error::of(&format!(
        "{names_file}: the file ends too early or belongs to another graph than {graph_file}"
    )))?;
    Ok((graph, names))
}
