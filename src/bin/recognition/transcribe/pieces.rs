//! Options for the files of a model.

use std::num::NonZero;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use kaldi_cli::log;
use nnet3::forward;
use nnet3::options::compute::ComputationOptions;
use nnet3::options::cpu_math::CpuMathOptions;
use nnet3::options::weights::WeightsOptions;
use nnet3_online::{Error, Files, Model, ModelOptions, acoustic_model, needs_folder};

// Options for files outside the folder, and for recognisers without a folder.
#[derive(Args, Clone, Debug, Default)]
pub struct PieceArgs {
    /// Folder of the model. With it, the first argument is no folder of a model
    #[arg(long = "model", value_name = "FOLDER", default_value = "")]
    pub model_folder: String,
    /// Acoustic model. Without it and --model, the first argument is a folder with all pieces
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
    /// Take sound at a lower rate than the model's as well, with a warning, since it lacks upper frequencies: more words are wrong
    #[arg(long, default_value_t = true)]
    pub allow_upsample: bool,
    #[command(flatten)]
    pub weights: WeightsOptions,
    #[command(flatten)]
    pub cpu: CpuMathOptions,
}

/// Verbose level from which on each command of a network is logged.
const EACH_COMMAND: i32 = 5;

impl PieceArgs {
    /// Takes the folder of the model from `paths`, whose first element it is. `None` if the options name the model's files.
    pub fn folder(&self, paths: &mut Vec<String>) -> Result<Option<String>> {
        if !self.mdl.is_empty() {
            if !self.model_folder.is_empty() {
                bail!(
                    "--mdl and --model: expected one of them, the acoustic model with --graph, or a folder with all"
                );
            }
            if self.graph.is_empty() {
                bail!("--mdl needs --graph, the decoding graph");
            }
            return Ok(None);
        }
        if !self.model_folder.is_empty() {
            needs_folder(&self.model_folder).map_err(|error| anyhow!("--model: {error}"))?;
            if let Some(second) = paths.first().filter(|path| acoustic_model(path).is_ok()) {
                bail!("--model={}: found a second model, {second}", self.model_folder);
            }
            return Ok(Some(self.model_folder.clone()));
        }
        if paths.is_empty() {
            bail!("expected the folder of a model");
        }
        let folder = paths.remove(0);
        if let Err(error) = needs_folder(&folder) {
            let later = paths.iter().find(|path| acoustic_model(path).is_ok());
            match (error, later) {
                (Error::NotAFolder(file), Some(model)) => {
                    bail!(
                        "the folder of the model comes first: found the file {file} before the model {model}"
                    )
                }
                (error, _) => bail!("{error}; or --mdl and --graph name its files"),
            }
        }
        Ok(Some(folder))
    }

    /// Opens the model in this folder, or that of the options. `threads` prepare i-vectors.
    pub fn open(&self, folder: Option<String>, threads: NonZero<usize>) -> Result<Model> {
        let options = self.options(threads)?;
        let model = match folder {
            None => Model::from_files(&options),
            Some(folder) => Model::open(folder, &options),
        };
        let model = model.map_err(|error| match error {
            Error::NoNames => anyhow!("{error} (--words)"),
            error => error.into(),
        })?;
        model.notices().iter().for_each(forward::notice);
        Ok(model)
    }

    fn options(&self, threads: NonZero<usize>) -> Result<ModelOptions> {
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let files = Files {
            acoustic: named(&self.mdl),
            graph: named(&self.graph),
            words: named(&self.words),
            mfcc: named(&self.mfcc_config),
            fbank: named(&self.fbank_config),
            plp: named(&self.plp_config),
            pitch: named(&self.online_pitch_config),
            settings: named(&self.model_config),
            ivectors: named(&self.ivector_extraction_config),
            word_boundary: named(&self.word_boundary),
        };
        Ok(ModelOptions {
            files,
            weights: self.weights.form(&nnet3_matrix::cpu())?,
            math: self.cpu.usable(),
            allow_upsample: self.allow_upsample,
            threads,
            observer: ComputationOptions { debug: true }.observer(),
            observe_always: log::verbose() >= EACH_COMMAND,
        })
    }
}
