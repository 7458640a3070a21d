//! `copy-matrix`: copies matrices, and applies functions to them.

use anyhow::{Result, bail};
use kaldi_feat::elementwise::{Change, Function};
use kaldi_io::holder::MatrixHolder;
use kaldi_io::object::read_matrix;
use nnet3::tables::{self, Names};

/// Copy matrices, or archives of matrices (e.g. features or transforms).
///
/// Input and output are both tables or both files. Options apply in this order: scale, function, power.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: copy-matrix --binary=false 1.mat -\n  copy-matrix ark:2.trans ark,t:-\n\
    See also: copy-feats, which has other format options; matrix-sum")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Multiply matrices by this
    #[arg(long, default_value_t = 1.0)]
    scale: f32,
    /// Take logarithms, of 1e-20 at least
    #[arg(long)]
    apply_log: bool,
    /// Take the exponential function
    #[arg(long)]
    apply_exp: bool,
    /// Raise to this power
    #[arg(long, default_value_t = 1.0)]
    apply_power: f32,
    /// Apply softmax to each row
    #[arg(long)]
    apply_softmax_per_row: bool,
    #[arg(value_name = "(<matrix-in-rspecifier>|<matrix-in-rxfilename>)")]
    matrix_in: String,
    #[arg(value_name = "(<matrix-out-wspecifier>|<matrix-out-wxfilename>)")]
    matrix_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let function = match (options.apply_log, options.apply_exp, options.apply_softmax_per_row) {
        (false, false, false) => None,
        (true, false, false) => Some(Function::Log),
        (false, true, false) => Some(Function::Exp),
        (false, false, true) => Some(Function::SoftmaxOfRows),
        _ => bail!("only one of --apply-log, --apply-exp and --apply-softmax-per-row can be given"),
    };
    let change = Change { scale: options.scale, function, power: options.apply_power };
    tables::convert::<MatrixHolder>(
        &options.matrix_in,
        &options.matrix_out,
        options.mode.binary,
        Names { one: "matrix", several: "matrices." },
        read_matrix,
        |mut matrix| {
            change.apply(&mut matrix)?;
            Ok(matrix)
        },
    )
}
