//! `lattice-expand`: gives each probable arc of a lattice a target state of its own.

use anyhow::Result;
use kaldi_cli::log::num;
use nnet3::options::fraction;
use nnet3::{lattices, messages};
use nnet3_decode::expansion::expand_probable;
use nnet3_decode::{CompactLatticeHolder, Scale};

/// Expand lattices so that each arc has a unique label sequence of its history: arcs with a posterior above epsilon.
///
/// Paths and costs stay the same.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-expand --acoustic-scale=0.1 --epsilon=0.5 ark:lat.in ark:lat.out")]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// An alternative way of setting the acoustic scale: its inverse
    #[arg(long, default_value_t = 1.0)]
    inv_acoustic_scale: f32,
    /// Posterior threshold above which arcs get a copy of their target state
    #[arg(long, default_value_t = 0.1)]
    epsilon: f32,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    fraction::check("epsilon", options.epsilon)?;
    let acoustic = lattices::acoustic_scale(options.acoustic_scale, options.inv_acoustic_scale)?;
    lattices::check_invertible(acoustic, 1.0)?;
    let scale = Scale::new(1.0, acoustic);
    let (mut states, mut arcs, mut expanded) = ([0usize; 2], [0usize; 2], 0u64);
    let (from, to) = (&options.lattice_rspecifier, &options.lattice_wspecifier);
    let output = lattices::map::<_, _, CompactLatticeHolder, CompactLatticeHolder>(from, to, |lattice| {
        let mut lattice = lattices::scaled(lattice, scale)?;
        let out = expand_probable(&mut lattice, f64::from(options.epsilon))?;
        for (i, lattice) in [&lattice, &out].into_iter().enumerate() {
            states[i] += lattice.states.len();
            arcs[i] += lattice.num_arcs();
        }
        expanded += u64::from(out.states.len() != lattice.states.len());
        lattices::scaled(out, lattices::inverse(scale))
    })?;
    let mean = |count: usize| num(count as f64 / output.done.max(1) as f64);
    messages::log(&format!(
        "Overall, expanded from on average {} to {} states, and from {} to {} arcs, over {} utterances.",
        mean(states[0]),
        mean(states[1]),
        mean(arcs[0]),
        mean(arcs[1]),
        output.done
    ));
    let percentage = num(100.0 * expanded as f64 / output.done.max(1) as f64);
    messages::log(&format!("Overall, {percentage}% percentage of lattices get expanded."));
    messages::log(&format!("Processed {} lattices with {} failures.", output.done, output.failed));
    output.finish()
}
