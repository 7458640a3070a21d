//! `fstrmepslocal`: removes epsilons if that makes an FST smaller.

use anyhow::Result;
use kaldi_fst::ops::{self, Semiring};
use nnet3::fsts;

/// Removes some (but not all) epsilons in an algorithm that will always reduce the number of arcs+states.
///
/// Option to preserves equivalence in tropical or log semiring, and if in tropical, stochasticity in either log or
/// tropical.
#[derive(clap::Parser)]
pub struct Options {
    /// Preserve equivalence in log semiring [false->tropical]
    #[arg(long, default_value_t = false)]
    use_log: bool,
    /// Preserve stochasticity in log semiring [false->tropical]
    #[arg(long, default_value_t = true)]
    stochastic_in_log: bool,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let (alternatives, sums) = match (options.use_log, options.stochastic_in_log) {
        (false, false) => (Semiring::Tropical, Semiring::Tropical),
        (false, true) => (Semiring::Tropical, Semiring::Log),
        (true, true) => (Semiring::Log, Semiring::Log),
        (true, false) => {
            let message = "--use-log=true needs --stochastic-in-log=true";
            return Ok(kaldi_cli::usage_error::<Options>(message));
        }
    };
    fsts::convert(options.fst_in.as_deref(), options.fst_out.as_deref(), |fst| {
        ops::remove_epsilons_locally(fst, alternatives, sums);
        Ok(())
    })
}
