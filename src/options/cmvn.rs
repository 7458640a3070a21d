//! Options of the programs that normalise features.

use anyhow::{Result, bail};
use kaldi_feat::cmvn::Normalization;
use kaldi_feat::cmvn::floor_warning;
use kaldi_io::text::split_integers;

use crate::messages;

/// The dimensions of `--skip-dims=13:14:15`.
pub fn skip_dims(text: &str) -> Result<Vec<usize>> {
    let dims = split_integers(text, &[':'], false)
        .and_then(|dims| dims.into_iter().map(|d| usize::try_from(d).ok()).collect::<Option<Vec<_>>>());
    match dims {
        Some(dims) => Ok(dims),
        None => bail!("'{text}': expected a colon-separated list of dimensions, as in 13:14:15"),
    }
}

/// Warns of variances that were too small.
pub fn warn_floored(normalization: &Normalization) {
    normalization.floored.iter().for_each(|&variance| messages::warn(&floor_warning(variance)));
}
