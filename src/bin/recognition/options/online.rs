//! Options for turning sound into inputs of a network while it arrives, and for detecting the end of speech.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use kaldi_feat::cmvn::CmvnStats;
use kaldi_feat::online_cmvn::OnlineCmvnOptions;
use kaldi_feat::pitch::{PitchOptions, PitchProcessOptions};
use kaldi_feat::spectral::SpectralOptions;
use kaldi_io::object::read_matrix;
use kaldi_io::text::split_integers;
use kaldi_online::endpoint::{EndpointOptions, EndpointRule};
use kaldi_online::silence::SilenceWeightingOptions;
use kaldi_online::{NetworkFeatures, PipelineModel};

use super::config_file;
use super::ivector::IvectorArgs;
use crate::recognition::decoding::SearchArgs;
use nnet3::messages;
use nnet3::options::cmvn::OnlineCmvnArgs;
use nnet3::options::forward::LoopedOptions;
use nnet3::options::pitch::OnlinePitchArgs;
use nnet3::options::spectral::{FbankArgs, MfccArgs, PlpArgs, SpectralArgs};

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
    pub silence_weighting: SilenceWeightingArgs,
}

/// The options of base features in a file that an option names; the usual ones without a name.
pub fn spectral<A: Args + SpectralArgs>(option: &str, config: &str) -> Result<SpectralOptions> {
    config_file::read::<A>(option, config)?.options().with_context(|| config.to_owned())
}

/// The options of pitch in a file; the usual ones without a name.
pub fn pitch(config: &str) -> Result<(PitchOptions, PitchProcessOptions)> {
    let args: OnlinePitchArgs = config_file::read("--online-pitch-config", config)?;
    let process = args.process.options().with_context(|| config.to_owned())?;
    Ok((args.pitch.options().with_context(|| config.to_owned())?, process))
}

// Weight of silence for i-vectors.
#[derive(Args, Clone, Debug)]
pub struct SilenceWeightingArgs {
    /// List of integer ids of silence phones, separated by colons (or commas), for iVectors in online decoding. Data
    /// that (according to the traceback of the decoder) corresponds to these phones will be downweighted by
    /// --silence-weight.
    #[arg(long = "ivector-silence-weighting.silence-phones", default_value = "")]
    pub silence_phones: String,
    /// Weighting factor in iVector estimation for frames that the decoder trace-back
    /// identifies as silence; only relevant if the --silence-phones option is set.
    #[arg(long = "ivector-silence-weighting.silence-weight", default_value_t = 1.0)]
    pub silence_weight: f32,
    /// Maximum allowed duration of a single transition-id; runs
    /// with durations of this or longer will be weighted down to the silence-weight.
    #[arg(long = "ivector-silence-weighting.max-state-duration", default_value_t = -1.0)]
    pub max_state_duration: f32,
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
            "mfcc" => spectral::<MfccArgs>("--mfcc-config", &self.mfcc_config)?,
            "fbank" => spectral::<FbankArgs>("--fbank-config", &self.fbank_config)?,
            "plp" => spectral::<PlpArgs>("--plp-config", &self.plp_config)?,
            other => bail!("--feature-type={other}: expected mfcc, plp or fbank"),
        };
        if !self.add_pitch && !self.online_pitch_config.is_empty() {
            messages::warn(
                "--online-pitch-config option has no effect since you did not supply --add-pitch option.",
            );
        }
        let pitch = self.add_pitch.then(|| pitch(&self.online_pitch_config)).transpose()?;
        let ivectors = match self.ivector_extraction_config.as_str() {
            "" => None,
            config => {
                let mut args: IvectorArgs = config_file::read("--ivector-extraction-config", config)?;
                change(&mut args);
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
        let options: OnlineCmvnArgs = config_file::read("--cmvn-config", &self.cmvn_config)?;
        let options = options.options().with_context(|| self.cmvn_config.clone())?;
        let global = CmvnStats::from_matrix(&read_matrix(&self.global_cmvn_stats)?);
        Ok(Some((options, global.with_context(|| self.global_cmvn_stats.clone())?)))
    }
}

impl SilenceWeightingArgs {
    pub fn options(&self) -> Result<SilenceWeightingOptions> {
        let phones = phones(&self.silence_phones, &[':', ',']);
        if !self.silence_weight.is_finite() {
            bail!("--ivector-silence-weighting.silence-weight={}: expected a number", self.silence_weight);
        }
        Ok(SilenceWeightingOptions {
            silence_phones: phones.context("--ivector-silence-weighting.silence-phones")?,
            silence_weight: self.silence_weight,
            max_state_duration: self.max_state_duration as i32,
        })
    }
}

/// A list of phones.
fn phones(text: &str, separators: &[char]) -> Result<BTreeSet<i32>> {
    let Some(phones) = split_integers(text, separators, false) else {
        bail!("'{text}': expected a colon-separated list of phones, as in 1:2:3");
    };
    Ok(phones.into_iter().collect())
}

// Options of network and search for streams, as in vosk's conf/model.conf.
#[derive(Args, Clone, Debug)]
pub struct RecognizerArgs {
    /// Scaling factor for acoustic log-likelihoods
    #[arg(long, default_value_t = 0.1)]
    pub acoustic_scale: f32,
    #[command(flatten)]
    pub looped: LoopedOptions,
    #[command(flatten)]
    pub search: SearchArgs,
    #[command(flatten)]
    pub endpoint: EndpointArgs,
}

macro_rules! endpoint_args {
    ($($nonsilence:ident $silence:ident $cost:ident $length:ident $name:literal $defaults:expr;)*) => {
        // Detection of the end of speech.
        #[derive(Args, Clone, Debug)]
        pub struct EndpointArgs {
            /// List of phones that are considered to be silence phones by the endpointing code.
            #[arg(long = "endpoint.silence-phones", default_value = "")]
            pub endpoint_silence_phones: String,
            $(
                /// If true, for this endpointing rule to apply there must be nonsilence in the best-path traceback.
                #[arg(long = concat!("endpoint.", $name, ".must-contain-nonsilence"),
                    default_value_t = $defaults.must_contain_nonsilence)]
                pub $nonsilence: bool,
                /// This endpointing rule requires duration of trailing silence (in seconds) to be >= this value.
                #[arg(long = concat!("endpoint.", $name, ".min-trailing-silence"),
                    default_value_t = $defaults.min_trailing_silence)]
                pub $silence: f32,
                /// This endpointing rule requires relative-cost of final-states to be <= this value (describes how good the
                /// probability of final-states is).
                #[arg(long = concat!("endpoint.", $name, ".max-relative-cost"),
                    default_value_t = $defaults.max_relative_cost)]
                pub $cost: f32,
                /// This endpointing rule requires utterance-length (in seconds) to be >= this value.
                #[arg(long = concat!("endpoint.", $name, ".min-utterance-length"),
                    default_value_t = $defaults.min_utterance_length)]
                pub $length: f32,
            )*
        }

        impl EndpointArgs {
            fn rules(&self) -> [EndpointRule; 5] {
                [$(EndpointRule {
                    must_contain_nonsilence: self.$nonsilence,
                    min_trailing_silence: self.$silence,
                    max_relative_cost: self.$cost,
                    min_utterance_length: self.$length,
                },)*]
            }
        }
    };
}

endpoint_args! {
    nonsilence1 silence1 cost1 length1 "rule1" EndpointOptions::RULES[0];
    nonsilence2 silence2 cost2 length2 "rule2" EndpointOptions::RULES[1];
    nonsilence3 silence3 cost3 length3 "rule3" EndpointOptions::RULES[2];
    nonsilence4 silence4 cost4 length4 "rule4" EndpointOptions::RULES[3];
    nonsilence5 silence5 cost5 length5 "rule5" EndpointOptions::RULES[4];
}

impl EndpointArgs {
    /// The rules, for a program that looks for endpoints: there must be phones of silence.
    pub fn options(&self) -> Result<EndpointOptions> {
        let silence_phones =
            phones(&self.endpoint_silence_phones, &[':']).context("--endpoint.silence-phones")?;
        if silence_phones.is_empty() {
            bail!("Endpointing requires nonempty --endpoint.silence-phones option");
        }
        Ok(EndpointOptions { silence_phones, rules: self.rules() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_io::cli;

    #[derive(clap::Parser)]
    struct All {
        #[command(flatten)]
        pipeline: PipelineArgs,
        #[command(flatten)]
        endpoint: EndpointArgs,
    }

    fn parse(options: &[&str]) -> All {
        let words = ["test"].iter().chain(options).map(Into::into);
        cli::parse::<All>(words).map_err(|stop| stop.error).unwrap().options
    }

    fn refused<T>(result: Result<T>, words: &str) {
        let error = format!("{:#}", result.err().unwrap());
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn endpoints() {
        let usual = parse(&["--endpoint.silence-phones=1:2"]).endpoint.options().unwrap();
        assert_eq!(
            usual,
            EndpointOptions { silence_phones: BTreeSet::from([1, 2]), rules: EndpointOptions::RULES }
        );
        let changed = parse(&[
            "--endpoint.silence-phones=7",
            "--endpoint.rule1.must-contain-nonsilence=true",
            "--endpoint.rule2.min-trailing-silence=0.75",
            "--endpoint.rule3.max-relative-cost=inf",
            "--endpoint.rule5.min-utterance-length=2",
        ]);
        let mut rules = EndpointOptions::RULES;
        rules[0].must_contain_nonsilence = true;
        rules[1].min_trailing_silence = 0.75;
        rules[2].max_relative_cost = f32::INFINITY;
        rules[4].min_utterance_length = 2.0;
        assert_eq!(changed.endpoint.options().unwrap().rules, rules);
        refused(parse(&[]).endpoint.options(), "nonempty --endpoint.silence-phones");
        refused(parse(&["--endpoint.silence-phones=1,2"]).endpoint.options(), "'1,2': expected a colon");
    }

    #[test]
    fn pipelines() {
        let read = |options: &[&str]| parse(options).pipeline.read(|_| {}, NonZero::<usize>::MIN);
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

    #[test]
    fn silence_weights() {
        let options = |options: &[&str]| parse(options).pipeline.silence_weighting.options();
        assert!(!options(&[]).unwrap().is_active());
        let set = options(&[
            "--ivector-silence-weighting.silence-phones=1,2:3",
            "--ivector-silence-weighting.silence-weight=0.001",
            "--ivector-silence-weighting.max-state-duration=20.5",
        ]);
        let expected = SilenceWeightingOptions {
            silence_phones: BTreeSet::from([1, 2, 3]),
            silence_weight: 0.001,
            max_state_duration: 20,
        };
        assert_eq!(set.unwrap(), expected);
        refused(options(&["--ivector-silence-weighting.silence-phones=a"]), "'a': expected a colon");
        refused(options(&["--ivector-silence-weighting.silence-weight=inf"]), "expected a number");
    }
}
