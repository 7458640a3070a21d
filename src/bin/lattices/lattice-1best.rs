//! `lattice-1best`: the best path of each lattice, as a lattice.

use anyhow::Result;
use nnet3::{lattices, messages, tables};
use nnet3_decode::lattice::add_word_penalty;
use nnet3_decode::{CompactLatticeHolder, Scale, order, path};

/// Compute best path through lattices and write out as lattices with a single path.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-1best --acoustic-scale=0.1 ark:1.lats ark:1best.lats")]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Scaling factor for language model (graph) costs
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    /// Word insertion penalty.
    #[arg(long, default_value_t = 0.0)]
    word_ins_penalty: f32,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let scale = Scale::new(f64::from(options.lm_scale), f64::from(options.acoustic_scale));
    lattices::check_invertible(scale.acoustic, scale.lm)?;
    // (The reference takes a negative penalty for none, too.)
    let penalty = Some(options.word_ins_penalty).filter(|&penalty| penalty > 0.0);
    let (from, to) = (&options.lattice_rspecifier, &options.lattice_wspecifier);
    let output = tables::map::<CompactLatticeHolder, CompactLatticeHolder>(from, to, |key, lattice| {
        let mut lattice = lattices::scaled(lattice, scale)?;
        if let Some(penalty) = penalty {
            add_word_penalty(&mut lattice, penalty);
        }
        if let Err(error) = order::sort(&mut lattice) {
            return tables::skip(error);
        }
        let mut best = path::best_path(&lattice);
        if best.start.is_none() {
            return tables::skip_as(format!("Possibly empty lattice for utterance-id {key} (no output)"));
        }
        if let Some(penalty) = penalty {
            add_word_penalty(&mut best, -penalty);
        }
        Ok(Ok(lattices::scaled(best, lattices::inverse(scale))?))
    })?;
    messages::log(&format!("Done converting {} to best path, {} had errors.", output.done, output.failed));
    output.finish()
}
