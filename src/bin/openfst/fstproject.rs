//! `fstproject`: makes an acceptor of the inputs or outputs of an FST.

use anyhow::{Result, bail};
use kaldi_fst::ops::{self, Side};
use nnet3::fsts::{WithSymbols, side};

/// Projects a transduction onto its input or output language.
#[derive(clap::Parser)]
pub struct Options {
    /// Side to project from, one of: "input", "output"
    #[arg(long = "project_type", default_value = "input")]
    project_type: String,
    /// Project on output (the older form of --project_type=output)
    #[arg(long = "project_output", default_value_t = false)]
    project_output: bool,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let Some(side) = side(&options.project_type) else {
        bail!("Unknown project type: {}; expected input or output", options.project_type);
    };
    let side = if options.project_output { Side::Output } else { side };
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    ops::project(&mut file.fst, side);
    let [input, output] = file.symbols;
    let kept = if side == Side::Input { input } else { output };
    file.symbols = [kept.clone(), kept];
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
