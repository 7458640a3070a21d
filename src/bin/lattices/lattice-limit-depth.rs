//! `lattice-limit-depth`: limits the number of arcs at each frame.

use anyhow::Result;
use kaldi_cli::log::ratio;
use nnet3::{lattices, messages};
use nnet3_decode::prune::{depth_per_frame, limit_depth};
use nnet3_decode::{CompactLatticeHolder, Scale, order};

/// Limit the number of arcs crossing any frame, to a specified maximum.
///
/// Requires an acoustic scale, because forward-backward Viterbi probabilities are needed, which will be affected by this.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-limit-depth --max-arcs-per-frame=1000 --acoustic-scale=0.1 ark:- ark:-"
)]
pub struct Options {
    /// Maximum number of arcs crossing any given frame
    #[arg(long, default_value_t = 1000)]
    max_arcs_per_frame: i32,
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let scale = Scale::new(1.0, f64::from(options.acoustic_scale));
    lattices::check_invertible(scale.acoustic, 1.0)?;
    let most = options.max_arcs_per_frame.max(0) as usize;
    let (mut sums, mut frames) = ([0.0; 2], 0.0);
    let (from, to) = (&options.lattice_rspecifier, &options.lattice_wspecifier);
    let output =
        lattices::map::<_, _, CompactLatticeHolder, CompactLatticeHolder>(from, to, |mut lattice| {
            order::sort(&mut lattice)?;
            let sum = |depths: &[i32]| depths.iter().map(|&depth| f64::from(depth)).sum::<f64>();
            let before = depth_per_frame(&lattice)?;
            let mut lattice = lattices::scaled(lattice, scale)?;
            limit_depth(&mut lattice, most)?;
            let after = depth_per_frame(&lattice)?;
            (sums[0], sums[1]) = (sums[0] + sum(&before), sums[1] + sum(&after));
            frames += before.len() as f64;
            lattices::scaled(lattice, lattices::inverse(scale))
        })?;
    messages::log(&format!("Done {} lattices.", output.done));
    messages::log(&format!(
        "Overall density changed from {} to {}",
        ratio(sums[0], frames),
        ratio(sums[1], frames)
    ));
    output.finish()
}
