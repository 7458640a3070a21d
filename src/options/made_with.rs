//! The options that features were made with, for programs that change features as mel energies.

use anyhow::{Context, Result, bail};
use kaldi_feat::augmentation::{Augmentation, Ranges};
use nnet3_online::config;
use nnet3_online::config::spectral::{FbankArgs, MfccArgs, SpectralArgs};

#[derive(clap::Args, Debug)]
pub struct MadeWith {
    /// File with the options of compute-mfcc-feats that the features were made with: as many cepstra as bins, use-energy=false
    #[arg(long, default_value = "")]
    mfcc_config: String,
    /// Instead of --mfcc-config: those of compute-fbank-feats
    #[arg(long, default_value = "")]
    fbank_config: String,
}

impl MadeWith {
    /// # Errors
    /// If not just one of the options is there, its file cannot be read, or its features do not tell the energies.
    pub fn augmentation(&self, ranges: Ranges) -> Result<Augmentation> {
        let (name, made) = match (self.mfcc_config.as_str(), self.fbank_config.as_str()) {
            (file, "") if !file.is_empty() => {
                (file, config::read::<MfccArgs>("mfcc-config", file)?.options()?)
            }
            ("", file) if !file.is_empty() => {
                (file, config::read::<FbankArgs>("fbank-config", file)?.options()?)
            }
            _ => bail!(
                "expected --mfcc-config or --fbank-config: the options that the features were made with"
            ),
        };
        Augmentation::new(&made, ranges).with_context(|| name.to_owned())
    }
}
