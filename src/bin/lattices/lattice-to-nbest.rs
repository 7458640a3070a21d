//! `lattice-to-nbest`: the n best paths of each lattice.

use anyhow::{Context, Result};
use kaldi_cli::log::num;
use kaldi_fst::ops;
use nnet3::tables::{Input, Output};
use nnet3::{lattices, messages};
use nnet3_core::c_rand::CRand;
use nnet3_decode::lattice::compact;
use nnet3_decode::{CompactLatticeHolder, LatticeHolder, LatticeWeight, Scale, path};

/// Work out N-best paths in lattices and write out as lattices with a single path.
///
/// Only guarantees distinct word sequences if distinct paths in input lattices had distinct word-sequences. That is not
/// so for state-level lattices (--determinize-lattice=false).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-to-nbest --acoustic-scale=0.1 --n=10 ark:1.lats ark:nbest.lats")]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Scaling factor for language model (graph) costs
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    /// Number of distinct paths
    #[arg(long, default_value_t = 1)]
    n: i32,
    /// If true, generate n random paths instead of n-best paths. In this case, all costs in generated paths will be zero.
    #[arg(long, default_value_t = false)]
    random: bool,
    /// Seed for random number generator (only relevant if --random=true)
    #[arg(long, default_value_t = 0)]
    srand: i32,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let n = usize::try_from(options.n).ok().filter(|&n| n > 0);
    let n = n.with_context(|| format!("--n={}: expected a number above 0", options.n))?;
    let scale = Scale::new(f64::from(options.lm_scale), f64::from(options.acoustic_scale));
    lattices::check_invertible(scale.acoustic, scale.lm)?;
    let mut random = CRand::new(options.srand);
    let input = Input::<LatticeHolder>::open(&options.lattice_rspecifier)?;
    let mut output = Output::<CompactLatticeHolder>::open(&options.lattice_wspecifier)?;
    let mut done = 0;
    input.for_each(|key, lattice| {
        let mut lattice = lattices::scaled(lattice, scale)?;
        let paths = if options.random {
            ops::connect(&mut lattice);
            let mut choose = |count: usize| random.next() as usize % count;
            let mut paths = Vec::new();
            for _ in 0..if lattice.start.is_some() { n } else { 0 } {
                let mut path = path::random_path(&lattice, &mut choose)?;
                path.map_weights(|weight| *weight = LatticeWeight::ONE);
                paths.push(path);
            }
            paths
        } else {
            path::best_paths(&lattice, n)?
        };
        if paths.is_empty() {
            messages::warn(&format!("Possibly empty lattice for utterance-id {key}(no N-best entries)"));
            return Ok(());
        }
        for (i, path) in paths.into_iter().enumerate() {
            let path = lattices::scaled(path, lattices::inverse(scale))?;
            output.write(&format!("{key}-{}", i + 1), &compact(&path))?;
        }
        done += 1;
        Ok(())
    })?;
    messages::log(&format!(
        "Done applying N-best algorithm to {done} lattices with n = {n}, average actual #paths is {}",
        num(output.done as f64 / (f64::from(done) + 1e-20))
    ));
    output.finish()
}
