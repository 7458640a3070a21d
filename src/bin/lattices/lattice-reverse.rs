//! `lattice-reverse`: lattices read from their end.

use anyhow::Result;
use kaldi_fst::ops::reverse;
use nnet3::{lattices, messages};
use nnet3_decode::LatticeHolder;

/// Reverse a lattice in order to rescore the lattice with a backward LM.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-reverse ark:forward.lats ark:reverse.lats")]
pub struct Options {
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.lattice_rspecifier, &options.lattice_wspecifier);
    let output =
        lattices::map::<_, _, LatticeHolder, LatticeHolder>(from, to, |lattice| Ok(reverse(&lattice)))?;
    messages::log(&format!("Done reversing {} lattices.", output.done));
    output.finish()
}
