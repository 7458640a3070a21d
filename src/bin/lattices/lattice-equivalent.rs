//! `lattice-equivalent`: compares lattices by paths at random.

use anyhow::Result;
use nnet3::options::fraction;
use nnet3::{lattices, messages};
use nnet3_core::c_rand::CRand;
use nnet3_decode::LatticeHolder;
use nnet3_decode::equivalence::are_equivalent;

/// Test whether sets of lattices are equivalent (return with status 0 if all were equivalent, 1 otherwise, -1 on error).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-equivalent ark:1.lats ark:2.lats")]
pub struct Options {
    /// Delta parameter for equivalence test
    #[arg(long, default_value_t = 0.1)]
    delta: f32,
    /// Number of paths per lattice for testing randomized equivalence
    #[arg(long, default_value_t = 20)]
    num_paths: i32,
    /// Maximum proportion of missing 2nd lattices, or inequivalent lattices, we allow before returning nonzero status
    #[arg(long, default_value_t = 0.0)]
    max_error_proportion: f32,
    lattice_rspecifier1: String,
    lattice_rspecifier2: String,
}

pub fn run(options: Options) -> Result<u8> {
    fraction::check("max-error-proportion", options.max_error_proportion)?;
    let (first, second) = (&options.lattice_rspecifier1, &options.lattice_rspecifier2);
    let (mut equivalent, mut different, mut missing) = (0u64, 0u64, 0u64);
    let mut random = CRand::new(0);
    lattices::for_each_pair::<LatticeHolder, LatticeHolder>(first, second, |key, first, second| {
        let Some(second) = second else {
            messages::warn(&format!("No 2nd lattice present for utterance {key}"));
            missing += 1;
            return Ok(());
        };
        let choose = |count: usize| random.next() as usize % count;
        let paths = options.num_paths.max(0) as usize;
        match are_equivalent(first, second, paths, options.delta, choose) {
            Ok(true) => {
                messages::log(&format!("Lattices were equivalent for utterance {key}"));
                equivalent += 1;
            }
            Ok(false) => {
                messages::log(&format!("Lattices were inequivalent for utterance {key}"));
                different += 1;
            }
            Err(error) => {
                messages::warn(&format!("{key}: {error}"));
                different += 1;
            }
        }
        Ok(())
    })?;
    let done = equivalent + different;
    messages::log(&format!(
        "Done {done} lattices, {equivalent} were equivalent, {different} were not; for {missing}, could not find 2nd lattice."
    ));
    let allowed = f64::from(options.max_error_proportion) * (done + missing) as f64;
    Ok(match () {
        () if missing as f64 > allowed => kaldi_cli::FAILED,
        () if different as f64 > allowed => 1,
        () => 0,
    })
}
