//! `fstreweight`: changes costs by potentials of states.

use anyhow::Result;
use kaldi_fst::{openfst_text, ops};
use kaldi_io::KaldiReader;
use nnet3::fsts::WithSymbols;

/// Reweights an FST by the potentials in a file with a line for each state, as fstshortestdistance prints them. The costs of whole
/// paths stay.
#[derive(clap::Parser)]
pub struct Options {
    /// Push/reweight to final (vs. to initial) states
    #[arg(long = "to_final", default_value_t = false)]
    to_final: bool,
    fst_in: String,
    potential: String,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(Some(&options.fst_in))?;
    let mut r = KaldiReader::open_raw(&options.potential)?;
    let potentials = openfst_text::read_potentials(&mut r)?;
    r.close()?;
    ops::reweight(&mut file.fst, &potentials, options.to_final);
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
