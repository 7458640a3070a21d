//! `lattice-expand-ngram`: lattices with separate states for different last words.

use anyhow::{Context, Result};
use nnet3::tables::{Input, Output};
use nnet3::{lattices, messages};
use nnet3_decode::CompactLatticeHolder;
use nnet3_decode::expansion::expand_ngrams;

/// Expand lattices so that each arc has a unique n-label history, for a specified n (defaults to 3).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-expand-ngram --n=3 ark:lat ark:expanded_lat")]
pub struct Options {
    /// n-gram context to expand to.
    #[arg(long, default_value_t = 3)]
    n: i32,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let n = usize::try_from(options.n).ok().filter(|&n| n > 0);
    let n = n.with_context(|| format!("--n={}: expected a number above 0", options.n))?;
    let input = Input::<CompactLatticeHolder>::open(&options.lattice_rspecifier)?;
    let mut output = Output::<CompactLatticeHolder>::open(&options.lattice_wspecifier)?;
    input.for_each(|key, lattice| {
        messages::log(&format!("Processing lattice for key {key}"));
        let out = match lattices::nonempty(expand_ngrams(&lattice, n)) {
            Ok(out) => out,
            Err(error) => {
                output.skip(key, error);
                return Ok(());
            }
        };
        let (before, after) = (lattice.states.len(), out.states.len());
        messages::log(&match before == after {
            true => format!("Lattice for key {key} did not need to be expanded for order {n}."),
            false => format!("Lattice expanded from {before} to {after} states for order {n}."),
        });
        output.write(key, &out)
    })?;
    messages::log(&format!("Processed {} lattices with {} failures.", output.done, output.failed));
    output.finish_any()
}
