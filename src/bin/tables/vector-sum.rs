//! `vector-sum`: adds vectors.

use crate::tables::sums::Sum;
use anyhow::Result;

/// Add vectors (e.g. weights, transition-accs; speaker vectors), in one of three forms.
///
/// Tables, to a table: objects with the same key, for the keys of the first table. One table, to a file: all objects of
/// the table. Files, to a file. If you need to scale the inputs, use vector-scale on them.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: vector-sum ark:1.weights ark:2.weights ark:combine.weights\n\
    vector-sum --binary=false ark:vecs.ark sum.vec\n\
    vector-sum --binary=false 1.vec 2.vec 3.vec sum.vec\n\
    See also: copy-vector")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// If true, compute average instead of sum
    #[arg(long)]
    average: bool,
    /// Inputs and output
    #[arg(value_name = "<vector-in-rspecifier1> [<vector-in-rspecifier2> ...] <vector-out-wspecifier>", required = true, num_args = 2..)]
    arguments: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { mode, average, arguments } = &options;
    Sum { arguments, scales: [1.0, 1.0], average: *average, binary: mode.binary }.run::<Vec<f32>>()
}
