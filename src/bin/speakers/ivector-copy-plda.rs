//! `ivector-copy-plda`: copies a PLDA model, possibly smoothed.

use anyhow::{Result, bail};
use kaldi_speaker::plda::Plda;

/// Copy a PLDA object, possibly applying smoothing to the within-class covariance.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ivector-copy-plda --smoothing=0.1 plda plda.smooth0.1")]
pub struct Options {
    /// Factor used in smoothing within-class covariance (add this factor times between-class covar)
    #[arg(long, default_value_t = 0.0)]
    smoothing: f32,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Accepted as in Kaldi; has no effect
    #[arg(long, default_value_t = true)]
    normalize_length: bool,
    /// Accepted as in Kaldi; has no effect
    #[arg(long, default_value_t = false)]
    simple_length_normalization: bool,
    plda_in: String,
    plda_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { smoothing, .. } = options;
    if !(smoothing >= 0.0 && smoothing.is_finite()) {
        bail!("--smoothing={smoothing}: expected a number that is not negative");
    }
    let mut model: Plda = kaldi_io::read_object(&options.plda_in)?;
    if smoothing != 0.0 {
        model.smooth(smoothing.into());
    }
    kaldi_io::write_object(&options.plda_out, options.mode.binary, &model)?;
    Ok(0)
}
