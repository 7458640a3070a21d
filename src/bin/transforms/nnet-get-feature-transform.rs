//! `nnet-get-feature-transform`: the decorrelating transform in front of a network.

use crate::transforms::lda::{directions, read_stats};
use anyhow::Result;
use kaldi_cli::log::num;
use kaldi_feat::lda_estimate::{FeatureTransformOptions, feature_transform};
use kaldi_io::write_object;
use nnet3::messages;

/// Get feature-projection transform using stats obtained with acc-lda or nnet3-acc-lda-stats.
///
/// Features are decorrelated, and scaled by how well they tell classes apart.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet-get-feature-transform lda.mat 1.acc 2.acc\nSee also: est-lda, sum-lda-accs"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// If supplied, write to this file the Cholesky factor of the within-class covariance
    #[arg(long, default_value = "")]
    write_cholesky: String,
    /// If supplied, write to this file the within-class covariance (as a symmetric matrix)
    #[arg(long, default_value = "")]
    write_within_covar: String,
    /// If true, output an affine transform that makes the projected data mean equal to zero.
    #[arg(long, default_value_t = true)]
    remove_offset: bool,
    /// Dimension to project to (all dimensions if not above 0)
    #[arg(long, default_value_t = -1)]
    dim: i32,
    /// If 1.0, do conventional LDA where the within-class variance will be unit in the projected space. May be set to less
    /// than 1.0, which scales the features to have less variance where between-class variance is small.
    #[arg(long, default_value_t = 0.001)]
    within_class_factor: f32,
    /// If >0, maximum allowed singular value of final transform (larger ones are reduced to this)
    #[arg(long, default_value_t = 5.0)]
    max_singular_value: f32,
    matrix_out: String,
    #[arg(value_name = "<lda-acc-1> <lda-acc-2> ...", required = true)]
    lda_accs: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let stats = read_stats(&options.lda_accs)?;
    let dim = usize::try_from(options.dim).ok().filter(|&dim| dim > 0);
    let directions = directions(&stats, dim.unwrap_or(stats.dim()))?;
    let transform_options = FeatureTransformOptions {
        dim,
        remove_offset: options.remove_offset,
        within_class_factor: options.within_class_factor.into(),
        max_singular_value: options.max_singular_value.into(),
    };
    let transform = feature_transform(&directions, &transform_options)?;
    if transform.reduced > 0 {
        messages::log(&format!(
            "Applied ceiling to {} out of {} singular values of transform using ceiling {}, max is {}",
            transform.reduced,
            transform.matrix.rows,
            num(options.max_singular_value.into()),
            num(transform.largest_singular_value)
        ));
    }
    write_object(&options.matrix_out, options.mode.binary, &transform.matrix)?;
    if !options.write_cholesky.is_empty() {
        write_object(&options.write_cholesky, options.mode.binary, &directions.cholesky())?;
    }
    if !options.write_within_covar.is_empty() {
        write_object(&options.write_within_covar, options.mode.binary, &directions.within_covariance())?;
    }
    Ok(0)
}
