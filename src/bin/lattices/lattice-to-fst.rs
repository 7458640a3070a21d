//! `lattice-to-fst`: lattices as FSTs of words.

use anyhow::Result;
use kaldi_fst::FstHolder;
use kaldi_fst::ops::{Semiring, remove_epsilons_locally};
use nnet3::{lattices, messages};
use nnet3_decode::lattice::word_fst;
use nnet3_decode::{CompactLatticeHolder, Scale};

/// Turn lattices into normal FSTs, retaining only the word labels.
///
/// By default, removes all weights and also epsilons (configure with options --acoustic-scale, --lm-scale, --rm-eps).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-to-fst --acoustic-scale=0.1 ark:1.lats ark:1.fsts")]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 0.0)]
    acoustic_scale: f32,
    /// Scaling factor for graph/lm costs
    #[arg(long, default_value_t = 0.0)]
    lm_scale: f32,
    /// Remove epsilons in resulting FSTs (in lazy way; may not remove all epsilons)
    #[arg(long, default_value_t = true)]
    rm_eps: bool,
    lattice_rspecifier: String,
    fsts_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let scale = Scale::new(f64::from(options.lm_scale), f64::from(options.acoustic_scale));
    let (from, to) = (&options.lattice_rspecifier, &options.fsts_wspecifier);
    let output = lattices::map::<_, _, CompactLatticeHolder, FstHolder>(from, to, |lattice| {
        let mut fst = word_fst(&lattices::scaled(lattice, scale)?);
        if options.rm_eps {
            remove_epsilons_locally(&mut fst, Semiring::Tropical, Semiring::Tropical);
        }
        Ok(fst)
    })?;
    messages::log(&format!("Done converting {} lattices to word-level FSTs", output.done));
    output.finish()
}
