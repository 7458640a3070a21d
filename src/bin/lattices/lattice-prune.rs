//! `lattice-prune`: removes arcs that are only on costly paths from lattices.

use anyhow::Result;
use kaldi_cli::log::num;
use nnet3::{lattices, messages, tables};
use nnet3_decode::prune::prune;
use nnet3_decode::{CompactLatticeHolder, Scale};

/// Apply beam pruning to lattices.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-prune --acoustic-scale=0.1 --beam=4.0 ark:1.lats ark:pruned.lats")]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// An alternative way of setting the acoustic scale: its inverse
    #[arg(long, default_value_t = 1.0)]
    inv_acoustic_scale: f32,
    /// Pruning beam [applied after acoustic scaling]
    #[arg(long, default_value_t = 10.0)]
    beam: f32,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let acoustic = lattices::acoustic_scale(options.acoustic_scale, options.inv_acoustic_scale)?;
    lattices::check_invertible(acoustic, 1.0)?;
    let scale = Scale::new(1.0, acoustic);
    let (mut states, mut arcs) = ([0usize; 2], [0usize; 2]);
    let (from, to) = (&options.lattice_rspecifier, &options.lattice_wspecifier);
    let output = tables::map::<CompactLatticeHolder, CompactLatticeHolder>(from, to, |key, lattice| {
        let mut lattice = lattices::scaled(lattice, scale)?;
        let before = (lattice.states.len(), lattice.num_arcs());
        if !prune(&mut lattice, options.beam)? {
            messages::warn(&format!("Error pruning lattice for utterance {key}: nothing is left of it"));
        }
        let after = (lattice.states.len(), lattice.num_arcs());
        messages::log(&format!(
            "For utterance {key}, pruned #states from {} to {} and #arcs from {} to {}",
            before.0, after.0, before.1, after.1
        ));
        for (i, counts) in [before, after].into_iter().enumerate() {
            states[i] += counts.0;
            arcs[i] += counts.1;
        }
        Ok(Ok(lattices::scaled(lattice, lattices::inverse(scale))?))
    })?;
    let mean = |count: usize| num(f64::from(count as f32 / output.done.max(1) as f32));
    messages::log(&format!(
        "Overall, pruned from on average {} to {} states, and from {} to {} arcs, over {} utterances.",
        mean(states[0]),
        mean(states[1]),
        mean(arcs[0]),
        mean(arcs[1]),
        output.done
    ));
    messages::log(&format!("Done {} lattices.", output.done));
    output.finish()
}
