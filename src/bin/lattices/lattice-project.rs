//! `lattice-project`: lattices of words alone, or of transition-ids alone.

use anyhow::Result;
use kaldi_fst::ops::{Side, project};
use nnet3::{lattices, messages};
use nnet3_decode::lattice::word_lattice;
use nnet3_decode::{CompactLatticeHolder, LatticeHolder};

/// Project lattices (in their transducer form); by default makes them word->word transducers (set --project-output=false
/// for tid->tid).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-project ark:1.lats ark:word2word.lats\n\
    or: lattice-project --project-output=false ark:1.lats ark:tid2tid.lats")]
pub struct Options {
    /// If true, project on output (words); if false, on input (transition-ids)
    #[arg(long, default_value_t = true)]
    project_output: bool,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.lattice_rspecifier, &options.lattice_wspecifier);
    let output = match options.project_output {
        true => lattices::map::<_, _, CompactLatticeHolder, LatticeHolder>(from, to, |lattice| {
            Ok(word_lattice(lattice))
        })?,
        false => lattices::map::<_, _, LatticeHolder, LatticeHolder>(from, to, |mut lattice| {
            project(&mut lattice, Side::Input);
            Ok(lattice)
        })?,
    };
    messages::log(&format!("Done projecting {} lattices.", output.done));
    output.finish()
}
