//! `ivector-adapt-plda`: adapts a PLDA model to vectors without speaker labels.

use anyhow::{Context, Result, bail};
use kaldi_cli::log::num;
use kaldi_io::holder::VectorHolder;
use kaldi_speaker::plda::Plda;
use kaldi_speaker::plda_adapt::{AdaptOptions, adapt};
use nnet3::messages;
use nnet3::tables::Input;

/// Adapt a Plda object using unsupervised adaptation-data iVectors from a different domain to the training data.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: ivector-adapt-plda plda ark:ivectors.ark plda.adapted\nSee also: ivector-compute-plda"
)]
pub struct Options {
    /// Scale with which to add to the total data variance the outer product of the difference between the original mean
    /// and the adaptation-data mean
    #[arg(long, default_value_t = 1.0)]
    mean_diff_scale: f32,
    /// Scale that determines how much of excess variance in a particular direction gets attributed to within-class covar.
    #[arg(long, default_value_t = 0.3)]
    within_covar_scale: f32,
    /// Scale that determines how much of excess variance in a particular direction gets attributed to between-class covar.
    #[arg(long, default_value_t = 0.7)]
    between_covar_scale: f32,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    plda_in: String,
    ivectors_rspecifier: String,
    plda_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let scales = AdaptOptions {
        mean_diff_scale: options.mean_diff_scale.into(),
        within_scale: options.within_covar_scale.into(),
        between_scale: options.between_covar_scale.into(),
    };
    for scale in [scales.mean_diff_scale, scales.within_scale, scales.between_scale] {
        if !(scale >= 0.0 && scale.is_finite()) {
            bail!("a scale is {scale}: expected a number that is not negative");
        }
    }
    let model: Plda = kaldi_io::read_object(&options.plda_in)?;
    let mut vectors = Vec::new();
    Input::<VectorHolder>::open(&options.ivectors_rspecifier)?.for_each(|key, vector| {
        if vector.is_empty() {
            messages::warn(&format!("{key}: empty vector"));
        } else if vector.len() != model.dim() {
            bail!("the vector has dimension {}, the PLDA model has {}", vector.len(), model.dim());
        } else {
            vectors.push(vector);
        }
        Ok(())
    })?;
    let adapted = adapt(&model, &vectors, &scales).with_context(|| options.ivectors_rspecifier.clone())?;
    for (i, [value, within, between]) in adapted.directions.iter().enumerate() {
        messages::log(&format!(
            "For {i}'th eigenvalue, value is {}, within-class covar in this direction is {}, between-class is {}",
            num(*value),
            num(*within),
            num(*between)
        ));
    }
    kaldi_io::write_object(&options.plda_out, options.mode.binary, &adapted.model)?;
    Ok(0)
}
