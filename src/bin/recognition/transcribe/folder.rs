//! Places of a recogniser's parts: in a folder as vosk has it (of the newer form or the older one), or at paths given
//! by options.

use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use kaldi_feat::cmvn::CmvnStats;
use kaldi_feat::online_cmvn::OnlineCmvnState;
use kaldi_fst::store::{Names, Symbols};
use kaldi_hmm::TransitionModel;
use kaldi_io::object::read_matrix;
use kaldi_online::endpoint::EndpointOptions;
use kaldi_online::silence::SilenceWeightingOptions;
use kaldi_online::{NetworkFeatures, PipelineModel, Speaker};
use nnet3_core::forward::LoopedForward;
use nnet3_decode::align::WordBoundaries;
use nnet3_decode::decoder::ChunkOptions;
use nnet3_online::RecognizerModel;

use crate::recognition::options::config_file;
use crate::recognition::options::incremental::IncrementalArgs;
use crate::recognition::options::ivector::IvectorArgs;
use crate::recognition::options::online::{RecognizerArgs, pitch, spectral};
use crate::recognition::search_graph::{self, PairFiles, SharedGraph};
use nnet3::forward::AcousticNetwork;
use nnet3::options::cmvn::OnlineCmvnArgs;
use nnet3::options::spectral::{FbankArgs, MfccArgs, PlpArgs};
use nnet3::options::weights::WeightsOptions;
use nnet3::{lattices, messages};

/// Largest count of i-vector statistics from one utterance, and the weight of its silence: vosk's settings.
const MAX_COUNT: f32 = 100.0;
const SILENCE_WEIGHT: f32 = 1e-3;

/// The names of the pieces in a folder of one form.
struct Layout {
    mdl: &'static str,
    /// Prefixes of the files with options of features, of the graph, and of the classes of phones.
    conf: &'static str,
    graph: &'static str,
    phones: &'static str,
    global_cmvn: &'static str,
    /// File with the options of search, network and endpoints, if the folder has it.
    model_config: Option<&'static str>,
}

const NESTED: Layout = Layout {
    mdl: "am/final.mdl",
    conf: "conf/",
    graph: "graph/",
    phones: "graph/phones/",
    global_cmvn: "am/global_cmvn.stats",
    model_config: Some("conf/model.conf"),
};

/// The older form, in which all files except for the i-vectors' are in one folder.
const FLAT: Layout = Layout {
    mdl: "final.mdl",
    conf: "",
    graph: "",
    phones: "",
    global_cmvn: "global_cmvn.stats",
    model_config: None,
};

/// Options of models without a file of options, as in vosk.
const MODEL_CONFIG: [&str; 9] = [
    "--max-active=7000",
    "--beam=13.0",
    "--lattice-beam=6.0",
    "--acoustic-scale=1.0",
    "--frame-subsampling-factor=3",
    "--endpoint.silence-phones=1:2:3:4:5:6:7:8:9:10",
    "--endpoint.rule2.min-trailing-silence=0.5",
    "--endpoint.rule3.min-trailing-silence=1.0",
    "--endpoint.rule4.min-trailing-silence=2.0",
];

// Options for files outside the folder, and for recognisers without a folder.
#[derive(Args, Clone, Debug, Default)]
pub struct PieceArgs {
    /// Acoustic model. Without it, the first argument is a folder with all pieces.
    #[arg(long, default_value = "")]
    pub mdl: String,
    /// Decoding graph, HCLG.fst
    #[arg(long, default_value = "")]
    pub graph: String,
    /// Names of the words, words.txt; not needed if the graph has them
    #[arg(long, default_value = "")]
    pub words: String,
    /// Options of MFCC features
    #[arg(long, default_value = "")]
    pub mfcc_config: String,
    /// Options of filterbank features, if the network reads them
    #[arg(long, default_value = "")]
    pub fbank_config: String,
    /// Options of PLP features, if the network reads them
    #[arg(long, default_value = "")]
    pub plp_config: String,
    /// Options of pitch, if the network reads pitch after the other features (see
    /// compute-and-process-kaldi-pitch-feats)
    #[arg(long, default_value = "")]
    pub online_pitch_config: String,
    /// Options of search, network and end pointing, as in conf/model.conf
    #[arg(long, default_value = "")]
    pub model_config: String,
    /// Options of i-vectors, if the network needs them (see ivector-extract-online2)
    #[arg(long, default_value = "")]
    pub ivector_extraction_config: String,
    /// File with the phones that begin and end words, phones/word_boundary.int: for times that are exact to the frame
    #[arg(long, default_value = "")]
    pub word_boundary: String,
    /// Take sound at a lower rate than the model's as well, although it lacks the upper frequencies: more words are wrong
    #[arg(long, default_value_t = false)]
    pub allow_upsample: bool,
    #[command(flatten)]
    pub weights: WeightsOptions,
}

// Options of model.conf, which are those that vosk reads from it.
#[derive(Args, Clone, Debug)]
struct ModelConfig {
    #[command(flatten)]
    recognizer: RecognizerArgs,
    #[command(flatten)]
    incremental: IncrementalArgs,
}

enum GraphFiles {
    Whole(String),
    Pair { hcl: String, grammar: String, disambiguation: String },
}

/// Base features, with the name of the file of their options.
enum Base {
    Mfcc(String),
    Fbank(String),
    Plp(String),
}

impl Base {
    /// Returns the first existing file of the three (for MFCC, filterbank and PLP features).
    fn of([mfcc, fbank, plp]: [Option<String>; 3]) -> Option<Base> {
        mfcc.map(Base::Mfcc).or_else(|| fbank.map(Base::Fbank)).or_else(|| plp.map(Base::Plp))
    }
}

impl GraphFiles {
    /// Returns the file with words as output labels.
    fn file_of_words(&self) -> &str {
        match self {
            GraphFiles::Whole(file) => file,
            GraphFiles::Pair { grammar, .. } => grammar,
        }
    }
}

/// Names of files. The name of an optional, absent file is `None`.
struct Pieces {
    mdl: String,
    graph: GraphFiles,
    words: Option<String>,
    base: Base,
    pitch: Option<String>,
    settings: ModelConfig,
    ivectors: Option<IvectorArgs>,
    global_cmvn: Option<String>,
    /// The options of a running mean, in the place of the mean of the global statistics.
    online_cmvn: Option<String>,
    word_boundary: Option<String>,
}

/// All loaded parts except for the network.
pub struct Loaded {
    pub model: RecognizerModel,
    /// Initial state of a speaker.
    pub speaker: Speaker,
    pub transitions: Arc<TransitionModel>,
    pub graph: SharedGraph,
    pub names: Names,
    /// Options of search, network and end pointing.
    pub settings: RecognizerArgs,
    /// Lengths of the chunks in which lattices are determinized.
    pub chunks: ChunkOptions,
    /// The rules of end pointing, if the speaker's pauses end a piece of text.
    pub endpoint: Option<EndpointOptions>,
    pub boundaries: Option<WordBoundaries>,
}

impl Pieces {
    fn of_options(args: &PieceArgs) -> Result<Pieces> {
        if args.graph.is_empty() {
            bail!("--mdl needs --graph, the decoding graph");
        }
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let ivectors = match named(&args.ivector_extraction_config) {
            Some(config) => Some(config_file::read("--ivector-extraction-config", &config)?),
            None => None,
        };
        Ok(Pieces {
            mdl: args.mdl.clone(),
            graph: GraphFiles::Whole(args.graph.clone()),
            words: named(&args.words),
            base: Base::of([named(&args.mfcc_config), named(&args.fbank_config), named(&args.plp_config)])
                .unwrap_or(Base::Mfcc(String::new())),
            pitch: named(&args.online_pitch_config),
            settings: config_file::read("--model-config", &args.model_config)?,
            ivectors,
            global_cmvn: None,
            online_cmvn: None,
            word_boundary: named(&args.word_boundary),
        })
    }

    /// Finds the pieces of a folder with `am/final.mdl`, `conf`, `graph` and optionally `ivector`, or with `final.mdl`
    /// and the other files beside it. Files that options name replace the folder's.
    fn of_folder(folder: &str, args: &PieceArgs) -> Result<Pieces> {
        if !Path::new(folder).is_dir() {
            bail!(
                "{folder}: expected the folder of a model, with am/final.mdl, conf/ and graph/ (or --mdl and --graph)"
            );
        }
        let path = |name: &str| format!("{folder}/{name}");
        let there = |name: &str| Path::new(&path(name)).exists().then(|| path(name));
        let (layout, mdl) = match (there(NESTED.mdl), there(FLAT.mdl)) {
            (Some(mdl), _) => (NESTED, mdl),
            (None, Some(mdl)) => (FLAT, mdl),
            (None, None) => {
                bail!("{folder}: the folder of the model has no {}, nor {}", NESTED.mdl, FLAT.mdl)
            }
        };
        let Layout { conf, graph, phones, .. } = layout;
        let needed = |name: &str| {
            there(name).with_context(|| format!("{folder}: the folder of the model has no {name}"))
        };
        let or =
            |option: &str, name: &str| if option.is_empty() { there(name) } else { Some(option.to_owned()) };
        for unused in ["rescore", "rnnlm"].into_iter().filter_map(there) {
            messages::warn(&format!("{unused} is not used: words are those of the graph's language model"));
        }
        let (whole, hcl) = (format!("{graph}HCLG.fst"), format!("{graph}HCLr.fst"));
        let graph_files = match (&args.graph, there(&whole), there(&hcl)) {
            (named, ..) if !named.is_empty() => GraphFiles::Whole(named.clone()),
            (_, Some(whole), _) => GraphFiles::Whole(whole),
            (_, None, Some(hcl)) => GraphFiles::Pair {
                hcl,
                grammar: needed(&format!("{graph}Gr.fst"))?,
                disambiguation: needed(&format!("{graph}disambig_tid.int"))?,
            },
            (_, None, None) => bail!("{folder}: the folder of the model has neither {whole} nor {hcl}"),
        };
        let configs = [
            or(&args.mfcc_config, &format!("{conf}mfcc.conf")),
            or(&args.fbank_config, &format!("{conf}fbank.conf")),
            or(&args.plp_config, &format!("{conf}plp.conf")),
        ];
        let Some(base) = Base::of(configs) else {
            bail!(
                "{folder}: the folder of the model has neither {conf}mfcc.conf nor {conf}fbank.conf nor {conf}plp.conf"
            );
        };
        // vosk's name, or the name that Kaldi's scripts use.
        let pitch = or(&args.online_pitch_config, &format!("{conf}pitch.conf"))
            .or_else(|| there(&format!("{conf}online_pitch.conf")));
        let settings = match (args.model_config.as_str(), layout.model_config) {
            ("", None) => config_file::given("options of models whose folder has none", &MODEL_CONFIG)?,
            ("", Some(name)) => config_file::read("--model-config", &needed(name)?)?,
            (named, _) => config_file::read("--model-config", named)?,
        };
        let ivectors = match (&args.ivector_extraction_config, there("ivector")) {
            (config, _) if !config.is_empty() => {
                Some(config_file::read("--ivector-extraction-config", config)?)
            }
            (_, None) => None,
            (_, Some(_)) => Some(IvectorArgs {
                lda_matrix: needed("ivector/final.mat")?,
                global_cmvn_stats: needed("ivector/global_cmvn.stats")?,
                cmvn_config: needed("ivector/online_cmvn.conf")?,
                splice_config: needed("ivector/splice.conf")?,
                diag_ubm: needed("ivector/final.dubm")?,
                ivector_extractor: needed("ivector/final.ie")?,
                max_count: MAX_COUNT,
                ..config_file::read("ivector", "")?
            }),
        };
        Ok(Pieces {
            mdl,
            graph: graph_files,
            words: or(&args.words, &format!("{graph}words.txt")),
            base,
            pitch,
            settings,
            ivectors,
            global_cmvn: there(layout.global_cmvn),
            online_cmvn: there(&format!("{conf}online_cmvn.conf")),
            word_boundary: or(&args.word_boundary, &format!("{phones}word_boundary.int")),
        })
    }

    /// Returns the feature settings and the initial state of a speaker.
    fn features(&self, allow_upsample: bool, threads: NonZero<usize>) -> Result<(PipelineModel, Speaker)> {
        let mut base = match &self.base {
            Base::Mfcc(config) => spectral::<MfccArgs>("--mfcc-config", config)?,
            Base::Fbank(config) => spectral::<FbankArgs>("--fbank-config", config)?,
            Base::Plp(config) => spectral::<PlpArgs>("--plp-config", config)?,
        };
        // Sound at a higher rate has all that the model needs.
        base.frames.allow_downsample = true;
        base.frames.allow_upsample |= allow_upsample;
        let pitch = self.pitch.as_deref().map(pitch).transpose()?;
        let (mut cmvn, mut speaker) = (None, Speaker::default());
        if let Some(file) = &self.global_cmvn {
            let global = CmvnStats::from_matrix(&read_matrix(file)?).with_context(|| file.clone())?;
            let options: OnlineCmvnArgs =
                config_file::read("online_cmvn.conf", self.online_cmvn.as_deref().unwrap_or(""))?;
            if self.online_cmvn.is_none() {
                // As in vosk, the mean of the file is subtracted throughout.
                let frozen = Some(global.clone());
                speaker.cmvn = Some(OnlineCmvnState { frozen, ..OnlineCmvnState::new(global.clone()) });
            }
            cmvn = Some((options.options()?, global));
        }
        let ivectors = self.ivectors.as_ref().map(|args| args.read(threads)).transpose()?;
        let features = NetworkFeatures { base, pitch, cmvn };
        Ok((PipelineModel::new(features, ivectors.map(Arc::new))?, speaker))
    }
}

/// Reads all pieces. `paths` are the arguments, from which the folder is taken if there must be one.
pub fn load(
    args: &PieceArgs,
    paths: &mut Vec<String>,
    threads: NonZero<usize>,
) -> Result<(Loaded, LoopedForward)> {
    let pieces = if args.mdl.is_empty() {
        if paths.is_empty() {
            bail!("expected the folder of a model, and wave files");
        }
        Pieces::of_folder(&paths.remove(0), args)?
    } else {
        Pieces::of_options(args)?
    };
    let ModelConfig { recognizer: settings, incremental } = pieces.settings.clone();
    settings.search.check()?;
    let chunks = incremental.options()?;
    settings.search.chunks(chunks)?;
    let endpoint = match settings.endpoint.endpoint_silence_phones.is_empty() {
        true => None,
        false => Some(settings.endpoint.options()?),
    };
    let (features, speaker) = pieces.features(args.allow_upsample, threads)?;
    let features = Arc::new(features);
    let device = nnet3_matrix::cpu();
    let AcousticNetwork { transitions, nnet, scaling } =
        AcousticNetwork::load(&pieces.mdl, &device, settings.acoustic_scale, args.weights.form(&device)?)?;
    let network = settings.looped.forward(nnet, &device, scaling).with_context(|| pieces.mdl.clone())?;
    let ids = transitions.num_transition_ids();
    let (graph, names) = match &pieces.graph {
        GraphFiles::Whole(file) => {
            let (graph, names) = search_graph::read_whole(file, ids)?;
            (SharedGraph::Whole(graph), names)
        }
        GraphFiles::Pair { hcl, grammar, disambiguation } => {
            let (pair, names) = search_graph::read_pair(PairFiles { hcl, grammar, disambiguation }, ids)?;
            (SharedGraph::Pair(Box::new(pair)), names)
        }
    };
    let graph_file = pieces.graph.file_of_words();
    let (names, names_file) = match (names, &pieces.words) {
        (Some(names), _) => (names, graph_file),
        (None, Some(file)) => {
            let names = Names::try_from(&Symbols::load(file)?).map_err(anyhow::Error::msg);
            (names.with_context(|| file.clone())?, file.as_str())
        }
        (None, None) => bail!("the graph has no names of words, and there is no words.txt (--words)"),
    };
    graph.check_names(&names).with_context(|| {
        format!("{names_file}: the file ends too early or belongs to another graph than {graph_file}")
    })?;
    let open = |file: &String| lattices::open_boundaries(file, &transitions);
    let boundaries = pieces.word_boundary.as_ref().map(open).transpose()?;
    let silence_weighting = SilenceWeightingOptions {
        silence_phones: endpoint.as_ref().map(|endpoint| endpoint.silence_phones.clone()).unwrap_or_default(),
        silence_weight: SILENCE_WEIGHT,
        max_state_duration: -1,
    };
    let transitions = Arc::new(transitions);
    let model = RecognizerModel {
        transitions: transitions.clone(),
        features,
        silence_weighting,
        frame_subsampling_factor: settings.looped.frame_subsampling_factor as usize,
    };
    let loaded = Loaded { model, speaker, transitions, graph, names, settings, chunks, endpoint, boundaries };
    Ok((loaded, network))
}
