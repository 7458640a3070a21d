//! `logistic-regression-copy`: copies a logistic regression model, possibly with other priors.

use anyhow::{Context, Result};
use kaldi_speaker::logistic::LogisticRegression;

/// Copies a logistic-regression model, possibly changing the binary mode. The --scale-priors option scales the prior
/// probabilities that the model assigns to different classes. (For example, multiply by the inverses of their priors in
/// training, or by the priors in the test data.)
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: echo '[ 2.6 1.7 3.9 1.24 7.5 ]' | logistic-regression-copy --scale-priors=- 1.model \
    scaled_priors.mdl\nSee also: logistic-regression-train, logistic-regression-eval"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Filename to a vector (in text or binary) by which the prior probabilities of the classes are multiplied
    #[arg(long, default_value = "")]
    scale_priors: String,
    model_in: String,
    model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let mut model: LogisticRegression = kaldi_io::read_object(&options.model_in)?;
    if !options.scale_priors.is_empty() {
        let scales: Vec<f32> = kaldi_io::read_object(&options.scale_priors)?;
        model.scale_priors(&scales).with_context(|| options.scale_priors.clone())?;
    }
    kaldi_io::write_object(&options.model_out, options.mode.binary, &model)?;
    Ok(0)
}
