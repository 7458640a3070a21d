//! `fstpush`: moves costs and output labels of an FST.

use anyhow::Result;
use kaldi_fst::ops::{self, Push};
use nnet3::fsts::WithSymbols;

/// Pushes weights and/or output labels in an FST. Without --push_weights and --push_labels the FST is copied.
#[derive(clap::Parser)]
pub struct Options {
    /// Push weights
    #[arg(long = "push_weights", default_value_t = false)]
    push_weights: bool,
    /// Push output labels
    #[arg(long = "push_labels", default_value_t = false)]
    push_labels: bool,
    /// Remove total weight when pushing weights
    #[arg(long = "remove_total_weight", default_value_t = false)]
    remove_total_weight: bool,
    /// Remove common prefix/suffix when pushing labels
    #[arg(long = "remove_common_affix", default_value_t = false)]
    remove_common_affix: bool,
    /// Push/reweight to final (vs. to initial) states
    #[arg(long = "to_final", alias = "reweight_to_final", default_value_t = false)]
    to_final: bool,
    /// Comparison/quantization delta. It has no effect: distances are exact
    #[arg(long = "delta", default_value_t = 1e-6)]
    delta: f32,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    let push = Push {
        weights: options.push_weights,
        labels: options.push_labels,
        to_final: options.to_final,
        remove_total_weight: options.remove_total_weight,
        remove_common_affix: options.remove_common_affix,
        semiring: file.semiring,
    };
    file.fst = ops::push(file.fst, push)?;
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
