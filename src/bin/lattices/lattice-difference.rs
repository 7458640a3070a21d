//! `lattice-difference`: paths of lattices with word sequences that other lattices do not have.

use anyhow::Result;
use nnet3::tables::Output;
use nnet3::{lattices, messages};
use nnet3_decode::difference::difference;
use nnet3_decode::lattice::compact;
use nnet3_decode::{CompactLatticeHolder, LatticeHolder};

/// Compute FST difference on lattices (remove sequences in first lattice that appear in second lattice).
///
/// Useful for the denominator lattice for MCE.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-difference ark:den.lats ark:num.lats ark:den_mce.lats")]
pub struct Options {
    lattice1_rspecifier: String,
    lattice2_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let mut output = Output::<CompactLatticeHolder>::open(&options.lattice_wspecifier)?;
    let (first, second) = (&options.lattice1_rspecifier, &options.lattice2_rspecifier);
    let (mut empty, mut missing) = (0, 0);
    lattices::for_each_pair::<LatticeHolder, LatticeHolder>(first, second, |key, first, second| {
        let Some(second) = second else {
            messages::warn(&format!(
                "No lattice found for utterance {key} in {}. Skipping utterance.",
                options.lattice2_rspecifier
            ));
            missing += 1;
            return Ok(());
        };
        match lattices::nonempty(first).and_then(|first| difference(&first, &second)) {
            Ok(lattice) if lattice.start.is_some() => output.write(key, &compact(&lattice)),
            Ok(_) => {
                messages::warn(&format!("Skipping utterance {key} because difference is empty."));
                empty += 1;
                Ok(())
            }
            Err(error) => {
                output.skip(key, error);
                Ok(())
            }
        }
    })?;
    messages::log(&format!(
        "Total {} lattices written; {empty} lattices had empty difference; {missing} missing lattices in second archive ",
        output.done
    ));
    output.finish()
}
