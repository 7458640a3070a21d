//! `fstisstochastic`: tests if the probabilities of leaving each state sum to one.

use anyhow::Result;
use kaldi_cli::log::num;
use kaldi_cli::{NOTHING_DONE, StandardOutput};
use kaldi_fst::ops::{self, Semiring};
use nnet3::fsts;

/// Checks whether an FST is stochastic and exits with success if so.
///
/// Prints out the maximum error (in log units). With --test-in-log=true, it prints the costs of the least and of the
/// greatest probability that leaves a state; otherwise the least cost and the greatest.
#[derive(clap::Parser)]
pub struct Options {
    /// Maximum error to accept.
    #[arg(long, default_value_t = 0.01)]
    delta: f32,
    /// Test stochasticity in log semiring.
    #[arg(long, default_value_t = true)]
    test_in_log: bool,
    fst_in: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let fst = fsts::read(options.fst_in.as_deref())?;
    let semiring = if options.test_in_log { Semiring::Log } else { Semiring::Tropical };
    let costs = ops::leaving_costs(&fst, semiring, options.delta);
    let (first, second) =
        if options.test_in_log { (costs.most, costs.least) } else { (costs.least, costs.most) };
    StandardOutput::print(format!("{} {}\n", num(f64::from(first)), num(f64::from(second))))?;
    Ok(if costs.all_zero { 0 } else { NOTHING_DONE })
}
