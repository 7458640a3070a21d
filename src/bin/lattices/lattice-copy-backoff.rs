//! `lattice-copy-backoff`: lattices of a second table, or else of the first.

use anyhow::Result;
use nnet3::tables::Output;
use nnet3::{lattices, messages};
use nnet3_decode::CompactLatticeHolder;

/// Copy a table of lattices (1st argument), but for any keys that appear in the table from the 2nd argument, use the one
/// from the 2nd argument.
///
/// If the sets of keys are identical, this is equivalent to copying the 2nd table.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-copy-backoff ark:bad_but_complete.lat ark:good_but_incomplete.lat ark:out.lat"
)]
pub struct Options {
    lattice_rspecifier1: String,
    lattice_rspecifier2: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let mut output = Output::<CompactLatticeHolder>::open(&options.lattice_wspecifier)?;
    let (first, second) = (&options.lattice_rspecifier1, &options.lattice_rspecifier2);
    let mut backed_off = 0;
    lattices::for_each_pair::<CompactLatticeHolder, CompactLatticeHolder>(
        first,
        second,
        |key, first, second| {
            backed_off += u64::from(second.is_none());
            output.write(key, &second.unwrap_or(first))
        },
    )?;
    messages::log(&format!(
        "Done copying {} lattices; backed off to 1st archive for {backed_off} of those.",
        output.done
    ));
    output.finish()
}
