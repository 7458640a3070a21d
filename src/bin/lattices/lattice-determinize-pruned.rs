//! `lattice-determinize-pruned`: lattices in which each sequence of words has one path.

use anyhow::Result;
use nnet3::lattices::{Depths, LatticeOutput};
use nnet3::messages;
use nnet3::tables::Input;
use nnet3_decode::LatticeHolder;

use super::determinization::{PrunedOptions, warnings};

/// Determinize lattices, keeping only the best path (sequence of acoustic states) for each input-symbol sequence.
///
/// This version does pruning as part of the determinization algorithm, which is more efficient and prevents blowup.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-determinize-pruned --acoustic-scale=0.1 --beam=6.0 ark:in.lats ark:det.lats"
)]
pub struct Options {
    #[command(flatten)]
    pruned: PrunedOptions,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    options.pruned.check()?;
    let input = Input::<LatticeHolder>::open(&options.lattice_rspecifier)?;
    let mut output = LatticeOutput::open(&options.lattice_wspecifier, options.pruned.write_compact)?;
    let (mut warned, mut depths) = (0, Depths::default());
    input.for_each(|key, lattice| {
        messages::detail(2, format_args!("Processing lattice {key}"));
        let mut determinized = match options.pruned.determinize(lattice) {
            Ok(determinized) => determinized,
            Err(error) => {
                messages::warn(&format!("{key}: {error}"));
                warned += 1;
                return Ok(());
            }
        };
        warned += warnings(key, &determinized);
        depths.add(&determinized.input, &mut determinized.output)?;
        output.write(key, determinized.output, options.pruned.scale(), determinized.costs.as_ref())
    })?;
    depths.log(output.done(), " ");
    messages::log(&format!(
        "Done {} lattices, determinization finished earlier than specified by the beam (or output was empty) on \
         {warned} of these.",
        output.done()
    ));
    output.finish()
}
