//! `lattice-determinize-pruned-parallel`: `lattice-determinize-pruned` on several threads.

use anyhow::{Context, Result, bail};
use kaldi_io::SequentialReader;
use nnet3::lattices::LatticeOutput;
use nnet3::messages;
use nnet3::workers::in_parallel;
use nnet3_decode::{Lattice, LatticeHolder};

use super::determinization::{Determinized, PrunedOptions, warnings};

/// Determinize lattices, keeping only the best path (sequence of acoustic states) for each input-symbol sequence.
///
/// This is a version of lattice-determinize-pruned that accepts the --num-threads option. Lattices are the same, and in the
/// same order, for any number of threads.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-determinize-pruned-parallel --acoustic-scale=0.1 --beam=6.0 ark:in.lats ark:det.lats"
)]
pub struct Options {
    #[command(flatten)]
    pruned: PrunedOptions,
    /// Number of actively processing threads to run in parallel
    #[arg(long, default_value_t = 1)]
    num_threads: i32,
    /// Total number of lattices that are read but not yet written, if above 0. Otherwise num-threads + 20.
    #[arg(long, default_value_t = 0)]
    num_threads_total: i32,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

/// A key, and the lattice or the reason for which there is none.
type Job = (String, nnet3_decode::Result<Determinized>);

pub fn run(options: Options) -> Result<u8> {
    options.pruned.check()?;
    let threads = match usize::try_from(options.num_threads) {
        Ok(threads) if threads > 0 => threads,
        _ => bail!("--num-threads={}: expected a number above 0", options.num_threads),
    };
    let most = match usize::try_from(options.num_threads_total) {
        Ok(total) if total > 0 => total.max(threads),
        _ => threads + 20,
    };
    let from = &options.lattice_rspecifier;
    let mut input = SequentialReader::<LatticeHolder>::open(from)?;
    let mut output = LatticeOutput::open(&options.lattice_wspecifier, options.pruned.write_compact)?;
    let mut warned = 0;
    let pruned = &options.pruned;
    let worker = |(key, lattice): (String, Lattice)| -> Job { (key, pruned.determinize(lattice)) };
    in_parallel(
        most,
        |give| {
            while let Some(entry) = input.next()? {
                if !give(entry) {
                    return Ok(());
                }
            }
            Ok(input.close()?)
        },
        vec![worker; threads],
        |(key, determinized)| {
            let determinized = match determinized {
                Ok(determinized) => determinized,
                Err(error) => {
                    messages::warn(&format!("{key}: {error}"));
                    warned += 1;
                    return Ok(());
                }
            };
            warned += u64::from(warnings(&key, &determinized) > 0);
            let written =
                output.write(&key, determinized.output, pruned.scale(), determinized.costs.as_ref());
            written.with_context(|| format!("{from}, key '{key}'"))
        },
    )?;
    messages::log(&format!("Done {} lattices, had warnings on {warned} of these.", output.done()));
    output.finish()
}
