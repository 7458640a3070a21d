//! `lattice-confidence`: the difference in cost between the two best sentences of each lattice.

use anyhow::Result;
use kaldi_cli::log::num;
use kaldi_io::holder::FloatHolder;
use nnet3::tables::{Input, Output};
use nnet3::{lattices, messages};
use nnet3_decode::determinize::{Options as Limits, determinize_connected};
use nnet3_decode::lattice::expand;
use nnet3_decode::{Lattice, LatticeHolder, Scale, path};

/// Compute sentence-level lattice confidence measures for each utterance.
///
/// The output is the difference between the total costs of the best and second-best paths in the lattice. It is a
/// very large value if the lattice has only one path.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-confidence --acoustic-scale=0.08333 ark:- ark,t:-")]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Scaling factor for language model (graph) costs
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    /// If true, read compact lattices, which have one path for each sentence; if false, determinize lattices first
    #[arg(long, default_value_t = true)]
    read_compact_lattice: bool,
    lattices_rspecifier: String,
    confidences_wspecifier: String,
}

/// The confidence in a sentence that is the only one.
const ONLY_ONE: f32 = 1e10;

pub fn run(options: Options) -> Result<u8> {
    let scale = Scale::new(f64::from(options.lm_scale), f64::from(options.acoustic_scale));
    let input = Input::<LatticeHolder>::open(&options.lattices_rspecifier)?;
    let mut output = Output::<FloatHolder>::open(&options.confidences_wspecifier)?;
    let (mut single, mut empty, mut sum) = (0, 0, 0.0);
    input.for_each(|key, lattice| {
        let found = lattices::scaled(lattice, scale)
            .and_then(|lattice| confidence(lattice, options.read_compact_lattice));
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                messages::warn(&format!(
                    "Lattice for utterance {key} is equivalent to the empty lattice: {error}."
                ));
                empty += 1;
                return Ok(());
            }
        };
        single += u64::from(found.is_none());
        let confidence = found.map_or(ONLY_ONE, |difference| (difference as f32).min(ONLY_ONE));
        sum += f64::from(-confidence).exp();
        output.write(key, &confidence)
    })?;
    messages::log(&format!(
        "Done {} lattices, of which {single} contained only one sentence. {empty} were equivalent to the empty lattice.",
        output.done
    ));
    if output.done != 0 {
        let mean = -(sum / output.done as f64).ln();
        messages::log(&format!("Average confidence (averaged in negative-log space) is {}", num(mean)));
    }
    output.finish()
}

fn confidence(mut lattice: Lattice, is_determinized: bool) -> nnet3_decode::Result<Option<f64>> {
    if !is_determinized {
        let unlimited = Limits { max_mem: 0, ..Limits::default() };
        let (determinized, _) = determinize_connected(&mut lattice, f64::INFINITY, &unlimited)?;
        lattice = expand(&determinized);
    }
    path::confidence(&lattice)
}
