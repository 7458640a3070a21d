//! `est-lda`: discriminant analysis.

use crate::transforms::lda::{directions, read_stats};
use anyhow::{Result, bail};
use kaldi_feat::lda_estimate::{LdaOptions, lda};

/// Estimate LDA transform using stats obtained with acc-lda.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: est-lda --dim=40 lda.mat 1.acc 2.acc\nSee also: nnet-get-feature-transform")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Write full LDA matrix to this location.
    #[arg(long, default_value = "")]
    write_full_matrix: String,
    /// If true, output an affine transform that makes the projected data mean equal to zero.
    #[arg(long)]
    remove_offset: bool,
    /// Dimension to project to with LDA
    #[arg(long, default_value_t = 40)]
    dim: i32,
    /// If true, allow an LDA dimension larger than the number of classes.
    #[arg(long)]
    allow_large_dim: bool,
    /// Deprecated. If 1.0, do conventional LDA where the within-class variance will be unit in the projected space. May be
    /// set to less than 1.0, which scales the features to have less variance where between-class variance is small.
    #[arg(long, default_value_t = 1.0)]
    within_class_factor: f32,
    lda_matrix_out: String,
    #[arg(value_name = "<lda-acc-1> <lda-acc-2> ...", required = true)]
    lda_accs: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let Ok(dim) = usize::try_from(options.dim) else {
        bail!("--dim={}: expected a number above 0", options.dim);
    };
    let stats = read_stats(&options.lda_accs)?;
    let lda_options = LdaOptions {
        dim,
        allow_large_dim: options.allow_large_dim,
        remove_offset: options.remove_offset,
        within_class_factor: options.within_class_factor.into(),
    };
    let (matrix, full) = lda(&directions(&stats, dim)?, stats.classes(), &lda_options)?;
    kaldi_io::write_object(&options.lda_matrix_out, options.mode.binary, &matrix)?;
    if !options.write_full_matrix.is_empty() {
        kaldi_io::write_object(&options.write_full_matrix, options.mode.binary, &full)?;
    }
    Ok(0)
}
