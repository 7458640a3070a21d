//! `lattice-rmali`: removes transition-ids from lattices.

use anyhow::Result;
use nnet3::{lattices, messages};
use nnet3_decode::CompactLatticeHolder;
use nnet3_decode::lattice::remove_alignments;

/// Remove state-sequences from lattices (this just zeroes the alignments).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-rmali ark:1.lats ark:1.noali.lats")]
pub struct Options {
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.lattice_rspecifier, &options.lattice_wspecifier);
    let output =
        lattices::map::<_, _, CompactLatticeHolder, CompactLatticeHolder>(from, to, |mut lattice| {
            remove_alignments(&mut lattice);
            Ok(lattice)
        })?;
    messages::log(&format!("Done removing alignments from {} lattices.", output.done));
    output.finish()
}
