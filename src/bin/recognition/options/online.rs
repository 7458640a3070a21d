//! Options for turning sound into inputs of a network while it arrives.

use std::num::NonZero;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use kaldi_cli::Group;
use kaldi_feat::cmvn::CmvnStats;
use kaldi_feat::online_cmvn::OnlineCmvnOptions;
use kaldi_io::object::read_matrix;
use kaldi_online::silence::SilenceWeightingOptions;
use kaldi_online::{NetworkFeatures, PipelineModel};
use nnet3_online::config::cmvn::OnlineCmvnArgs;
use nnet3_online::config::ivector::IvectorArgs;
use nnet3_online::config::recognizer::RecognizerArgs;
use nnet3_online::config::silence::SilenceWeightingArgs;
use nnet3_online::config::spectral::{FbankArgs, MfccArgs, PlpArgs};
use nnet3_online::config::{self, pitch, spectral};
use nnet3_online::{AcousticNetwork, Model, ModelParts, SharedGraph};

use nnet3::options::compute::ComputationOptions;
use nnet3::{forward, messages};

// From sound to the inputs of a network.
#[derive(Args, Clone, Debug)]
pub struct PipelineArgs {
    /// Base feature type [mfcc, plp, fbank]
    #[arg(long, default_value = "mfcc")]
    pub feature_type: String,
    /// Configuration file for MFCC features (e.g. conf/mfcc.conf)
    #[arg(long, default_value = "")]
    pub mfcc_config: String,
    /// Configuration file for PLP features (e.g. conf/plp.conf)
    #[arg(long, default_value = "")]
    pub plp_config: String,
    /// Configuration file for filterbank features (e.g. conf/fbank.conf)
    #[arg(long, default_value = "")]
    pub fbank_config: String,
    /// Configuration file for online cmvn features (e.g. conf/online_cmvn.conf). Controls features on nnet3 input (not
    /// ivector features). If not set, the OnlineCmvn is disabled.
    #[arg(long, default_value = "")]
    pub cmvn_config: String,
    /// Filename with global stats for OnlineCmvn for features on nnet3 input (not ivector features)
    #[arg(long, default_value = "")]
    pub global_cmvn_stats: String,
    /// Append pitch features to raw MFCC/PLP/filterbank features [but not for iVector extraction]
    #[arg(long)]
    pub add_pitch: bool,
    /// Configuration file for online pitch features, if --add-pitch=true (e.g. conf/online_pitch.conf): options as of
    /// compute-and-process-kaldi-pitch-feats
    #[arg(long, default_value = "")]
    pub online_pitch_config: String,
    /// Configuration file for online iVector extraction (options as of ivector-extract-online2)
    #[arg(long, default_value = "")]
    pub ivector_extraction_config: String,
    #[command(flatten)]
    pub silence_weighting: Group<SilenceWeightingArgs>,
}

impl PipelineArgs {
    /// Reads the files that the options name. `change` may change the options of i-vectors. `threads` is the number of
    /// threads that prepare their estimation.
    pub fn read(
        &self,
        change: impl FnOnce(&mut IvectorArgs),
        threads: NonZero<usize>,
    ) -> Result<PipelineModel> {
        let kinds = [("mfcc", &self.mfcc_config), ("plp", &self.plp_config), ("fbank", &self.fbank_config)];
        for (kind, config) in kinds {
            if !config.is_empty() && kind != self.feature_type {
                messages::warn(&format!(
                    "--{kind}-config option has no effect since feature type is set to {}.",
                    self.feature_type
                ));
            }
        }
        let base = match self.feature_type.as_str() {
            "mfcc" => spectral::read::<MfccArgs>("--mfcc-config", &self.mfcc_config)?,
            "fbank" => spectral::read::<FbankArgs>("--fbank-config", &self.fbank_config)?,
            "plp" => spectral::read::<PlpArgs>("--plp-config", &self.plp_config)?,
            other => bail!("--feature-type={other}: expected mfcc, plp or fbank"),
        };
        if !self.add_pitch && !self.online_pitch_config.is_empty() {
            messages::warn(
                "--online-pitch-config option has no effect since you did not supply --add-pitch option.",
            );
        }
        let pitch = self
            .add_pitch
            .then(|| pitch::read("--online-pitch-config", &self.online_pitch_config))
            .transpose()?;
        let ivectors = match self.ivector_extraction_config.as_str() {
            "" => None,
            config => {
                let mut args: IvectorArgs = config::read("--ivector-extraction-config", config)?;
                change(&mut args);
                args.remark().into_iter().for_each(messages::warn);
                Some(Arc::new(args.read(threads).with_context(|| config.to_owned())?))
            }
        };
        Ok(PipelineModel::new(NetworkFeatures { base, pitch, cmvn: self.cmvn()? }, ivectors)?)
    }

    /// Returns the options of feature normalisation for the network, if there is one.
    fn cmvn(&self) -> Result<Option<(OnlineCmvnOptions, CmvnStats)>> {
        if self.cmvn_config.is_empty() {
            return Ok(None);
        }
        if self.global_cmvn_stats.is_empty() {
            bail!("--global-cmvn-stats option is required when --cmvn-config is specified.");
        }
        let options: OnlineCmvnArgs = config::read("--cmvn-config", &self.cmvn_config)?;
        let options = options.options().with_context(|| self.cmvn_config.clone())?;
        let global = CmvnStats::from_matrix(&read_matrix(&self.global_cmvn_stats)?);
        Ok(Some((options, global.with_context(|| self.global_cmvn_stats.clone())?)))
    }
}

/// Checks the limits of the search before input is read.
pub fn check(settings: &RecognizerArgs) -> Result<()> {
    settings.search.check()?;
    settings.search.remark().into_iter().for_each(messages::warn);
    Ok(())
}

/// Makes a model of its parts, without names of words. Logs how long the compilation of the network took.
pub fn model(
    settings: &RecognizerArgs,
    network: AcousticNetwork,
    features: PipelineModel,
    silence_weighting: SilenceWeightingOptions,
    graph: SharedGraph,
) -> Result<Model> {
    let (mut parts, notice) = ModelParts::new(settings, network, features, silence_weighting, graph)?;
    forward::notice(&notice);
    parts.observer = ComputationOptions { debug: settings.looped.debugs() }.observer();
    Ok(Model::from_parts(parts)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct All {
        #[command(flatten)]
        pipeline: PipelineArgs,
    }

    fn parse(options: &[&str]) -> PipelineArgs {
        let words = ["test"].iter().chain(options).map(Into::into);
        kaldi_cli::parse::<All>(words).map_err(|stop| stop.error).unwrap().options.pipeline
    }

    fn refused<T>(result: Result<T>, words: &str) {
        let error = format!("{:#}", result.err().unwrap());
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn pipelines() {
        let read = |options: &[&str]| parse(options).read(|_| {}, NonZero::<usize>::MIN);
        let model = read(&[]).unwrap();
        assert_eq!((model.dim(), model.ivector_dim(), model.sample_rate()), (13, None, 16000.0));
        assert_eq!(read(&["--feature-type=fbank"]).unwrap().dim(), 23);
        assert_eq!(read(&["--feature-type=plp"]).unwrap().dim(), 13);
        assert_eq!(read(&["--feature-type=plp", "--add-pitch=true"]).unwrap().dim(), 16);
        refused(read(&["--feature-type=lpc"]), "--feature-type=lpc: expected mfcc, plp or fbank");
        refused(
            read(&["--add-pitch=true", "--online-pitch-config=/nonexistent"]),
            "--online-pitch-config: Cannot open config file: /nonexistent",
        );
        refused(
            read(&["--mfcc-config=/nonexistent"]),
            "--mfcc-config: Cannot open config file: /nonexistent",
        );
        refused(read(&["--cmvn-config=/nonexistent"]), "--global-cmvn-stats option is required");
        refused(
            read(&["--ivector-extraction-config=/dev/null"]),
            "/dev/null: --lda-matrix option must be set",
        );
    }
}
