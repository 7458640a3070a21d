//! `fsts-to-transcripts`: the labels of the cheapest paths of FSTs.

use anyhow::Result;
use kaldi_fst::ops::{self, Side};
use kaldi_fst::{EPSILON, FstHolder};
use kaldi_io::holder::I32VectorHolder;
use nnet3::{messages, tables};

/// Reads a table of FSTs and finds the best path of each. Prints out the output-side labels (if
/// --output-side=true, the default), or the input-side ones.
#[derive(clap::Parser)]
pub struct Options {
    /// If true, extract the symbols on the output side of the FSTs, else the input side
    #[arg(long, default_value_t = true)]
    output_side: bool,
    fsts_rspecifier: String,
    transcriptions_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let side = if options.output_side { Side::Output } else { Side::Input };
    let output = tables::map::<FstHolder, I32VectorHolder>(
        &options.fsts_rspecifier,
        &options.transcriptions_wspecifier,
        |_, fst| match ops::shortest_paths(&fst, 1, f32::INFINITY) {
            Err(error) => tables::skip(error),
            Ok(paths) => match paths.first() {
                None => tables::skip("no path leads to an end"),
                Some((arcs, _)) => {
                    let labels = arcs.iter().map(|arc| side.label(arc));
                    Ok(Ok(labels.filter(|&label| label != EPSILON).collect()))
                }
            },
        },
    )?;
    messages::log(&format!("Converted {} FSTs, {} with errors", output.done, output.failed));
    output.finish()
}
