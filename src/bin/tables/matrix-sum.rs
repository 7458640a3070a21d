//! `matrix-sum`: adds matrices.

use crate::tables::sums::Sum;
use anyhow::Result;
use kaldi_io::DenseMatrix;

/// Add matrices, in one of three forms.
///
/// Tables, to a table: objects with the same key, for the keys of the first table. One table, to a file: all objects of
/// the table. Files, to a file.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: matrix-sum ark:1.weights ark:2.weights ark:combine.weights\n\
    matrix-sum --binary=false ark:mats.ark sum.mat\n\
    matrix-sum --binary=false 1.mat 2.mat 3.mat sum.mat\n\
    See also: matrix-sum-rows, copy-matrix")]
pub struct Options {
    /// Scale applied to first matrix (only for tables)
    #[arg(long, default_value_t = 1.0)]
    scale1: f32,
    /// Scale applied to second matrix (only for tables)
    #[arg(long, default_value_t = 1.0)]
    scale2: f32,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// If true, compute average instead of sum
    #[arg(long)]
    average: bool,
    /// Inputs and output
    #[arg(value_name = "<matrix-in-rspecifier1> [<matrix-in-rspecifier2> ...] <matrix-out-wspecifier>", required = true, num_args = 2..)]
    arguments: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let scales = [options.scale1, options.scale2];
    Sum { arguments: &options.arguments, scales, average: options.average, binary: options.mode.binary }
        .run::<DenseMatrix<f32>>()
}
