//! `lattice-add-trans-probs`: adds costs of transitions to lattices.

use anyhow::Result;
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use nnet3::{lattices, messages};
use nnet3_decode::decoder::align::TransitionCosts;
use nnet3_decode::lattice::compact;
use nnet3_decode::{CompactLatticeHolder, LatticeHolder};

/// Adds transition probabilities to the graph part of lattice scores, controlled by options --transition-scale
/// and --self-loop-scale. For compatibility with the original graph, these are normally 1 and 0.1.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-add-trans-probs --transition-scale=1.0 --self-loop-scale=0.1 1.mdl ark:in.lats ark:out.lats"
)]
pub struct Options {
    /// Scale for non-self-loop transition probabilities
    #[arg(long, default_value_t = 1.0)]
    transition_scale: f32,
    /// Scale for self-loop transition probabilities
    #[arg(long, default_value_t = 1.0)]
    self_loop_scale: f32,
    model: String,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let model: TransitionModel = read_object(&options.model)?;
    let costs = TransitionCosts::new(&model, options.transition_scale, options.self_loop_scale);
    let (from, to) = (&options.lattice_rspecifier, &options.lattice_wspecifier);
    let output = lattices::map::<_, _, LatticeHolder, CompactLatticeHolder>(from, to, |mut lattice| {
        costs.add_to_lattice(&mut lattice)?;
        Ok(compact(&lattice))
    })?;
    // (The reference counts each lattice twice.)
    messages::log(&format!("Done adding transition probabilities to {} lattices.", 2 * output.done));
    output.finish()
}
