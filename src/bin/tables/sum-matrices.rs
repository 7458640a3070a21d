//! `sum-matrices`: the sum of matrices in files.

use anyhow::{Result, bail};
use kaldi_io::{DenseMatrix, read_object};
use nnet3::messages;

/// Sum matrices of the same dimension.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: sum-matrices mat 1.mat 2.mat 3.mat\nSee also: matrix-sum, sum-lda-accs")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    sum_out: String,
    #[arg(value_name = "<sum-in1> <sum-in2> ...", required = true)]
    sum_in: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut sum: DenseMatrix<f32> = read_object(&options.sum_in[0])?;
    for name in &options.sum_in[1..] {
        let other: DenseMatrix<f32> = read_object(name)?;
        if (other.rows, other.cols) != (sum.rows, sum.cols) {
            bail!("{name}: {}×{}, those before are {}×{}", other.rows, other.cols, sum.rows, sum.cols);
        }
        sum.data.iter_mut().zip(&other.data).for_each(|(to, x)| *to += x);
    }
    kaldi_io::write_object(&options.sum_out, options.mode.binary, &sum)?;
    // (The two blanks are the reference's.)
    messages::log(&format!(
        "Summed {} matrices  of dimension {} by {}",
        options.sum_in.len(),
        sum.rows,
        sum.cols
    ));
    Ok(0)
}
