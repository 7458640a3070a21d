//! `lattice-union`: the paths of two lattices of each utterance, one for each sequence of words.

use anyhow::Result;
use nnet3::tables::Output;
use nnet3::{lattices, messages};
use nnet3_decode::combine::unite;
use nnet3_decode::determinize::{Options as Limits, determinize_connected};
use nnet3_decode::lattice::expand;
use nnet3_decode::{CompactLatticeHolder, LatticeHolder};

/// Takes two archives of lattices (indexed by utterances) and computes the union of the individual lattice pairs (one from
/// each archive).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-union ark:num.lats ark:den.lats ark:union.lats")]
pub struct Options {
    lattice_rspecifier1: String,
    lattice_rspecifier2: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let mut output = Output::<CompactLatticeHolder>::open(&options.lattice_wspecifier)?;
    let (first, second) = (&options.lattice_rspecifier1, &options.lattice_rspecifier2);
    let (mut unions, mut missing) = (0u64, 0u64);
    lattices::for_each_pair::<CompactLatticeHolder, LatticeHolder>(first, second, |key, first, second| {
        let Some(second) = second else {
            messages::warn(&format!(
                "No lattice found for utterance {key} in {}. Result of union will be the lattice found in {}",
                options.lattice_rspecifier2, options.lattice_rspecifier1
            ));
            missing += 1;
            return match first.start {
                Some(_) => output.write(key, &first),
                None => {
                    output.skip(key, nnet3_decode::Error::Empty);
                    Ok(())
                }
            };
        };
        let mut lattice = expand(&first);
        unite(&mut lattice, second);
        let unlimited = Limits { max_mem: 0, ..Limits::default() };
        let determinized = determinize_connected(&mut lattice, f64::INFINITY, &unlimited);
        match determinized.and_then(|(lattice, _)| lattices::nonempty(lattice)) {
            Ok(lattice) => {
                unions += 1;
                output.write(key, &lattice)
            }
            Err(error) => {
                output.skip(key, error);
                Ok(())
            }
        }
    })?;
    // (The reference leaves out the blank, too.)
    messages::log(&format!(
        "Total {}lattices written. Computed union for {unions} pairs of lattices. Missing second lattice in {missing} cases.",
        output.done
    ));
    messages::log(&format!("Done {} lattices.", output.done));
    output.finish()
}
