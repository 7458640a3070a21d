//! Options of the programs that normalise features.

use kaldi_feat::cmvn::{Normalization, floor_warning};
pub use nnet3_online::config::cmvn::{OnlineCmvnArgs, skip_dims};

use crate::messages;

/// Warns of variances that were too small.
pub fn warn_floored(normalization: &Normalization) {
    normalization.floored.iter().for_each(|&variance| messages::warn(&floor_warning(variance)));
}
