//! `fstpushspecial`: distributes weight so that all states sum up to the same.

use anyhow::Result;
use kaldi_cli::log::{self, Site};
use kaldi_fst::ops::{self, DELTA};
use nnet3::fsts;

/// Pushes weights in an FST such that the weights that leave each state (of arcs and the final-prob) have the same sum
/// for all states. Sums are in the log semiring.
///
/// Thus, the "extra weight" is distributed throughout the FST. Tolerance parameter --delta controls how exact this is, and
/// the speed.
#[derive(clap::Parser)]
pub struct Options {
    /// Delta cost: after pushing, all states will have a total weight that differs from the average by no more than this.
    #[arg(long, default_value_t = DELTA)]
    delta: f32,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

const ITERATE: Site = Site::new("Iterate", "push-special.cc", 182);

pub fn run(options: Options) -> Result<u8> {
    fsts::convert(options.fst_in.as_deref(), options.fst_out.as_deref(), |fst| {
        if !ops::push_special(fst, options.delta) {
            let message =
                "push-special: finished 200 iterations without converging.  Output will be inaccurate.";
            log::warning(&ITERATE, message);
        }
        Ok(())
    })
}
