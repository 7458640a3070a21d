//! `fsts-project`: projects the FSTs of a table.

use anyhow::Result;
use kaldi_fst::FstHolder;
use kaldi_fst::ops::{self, Side};
use nnet3::{messages, tables};

/// Reads a table of FSTs and performs the project operation on each element. It projects on the input (default), or
/// on the output if --project-output is true.
#[derive(clap::Parser)]
pub struct Options {
    /// If true, project output vs input
    #[arg(long, default_value_t = false)]
    project_output: bool,
    fsts_rspecifier: String,
    fsts_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let side = if options.project_output { Side::Output } else { Side::Input };
    let output = tables::map::<FstHolder, FstHolder>(
        &options.fsts_rspecifier,
        &options.fsts_wspecifier,
        |_, mut fst| {
            ops::project(&mut fst, side);
            Ok(Ok(fst))
        },
    )?;
    messages::log(&format!("Projected {} FSTs", output.done));
    output.finish()
}
