//! Config keys and file fields that Tdnn and TimeHeightConvolution share.

use crate::component::preconditioners::Preconditioners;
use crate::component::{Key, Kind, fields, fields::key};
use crate::config::ConfigLine;
use crate::error::Result;
use kaldi_io::reader::KaldiReader;

pub(in crate::component) const ALPHA_IN: Key = key(
    "alpha-in",
    Kind::Float,
    "4",
    "natural gradient: how much of the identity is mixed in on the input side",
);
pub(in crate::component) const ALPHA_OUT: Key = key(
    "alpha-out",
    Kind::Float,
    "4",
    "natural gradient: how much of the identity is mixed in on the output side",
);

/// Integers separated by commas, none empty.
pub(in crate::component) fn get_integers(line: &mut ConfigLine, key: &str) -> Result<Option<Vec<i32>>> {
    let Some(value) = line.get_string(key) else { return Ok(None) };
    match kaldi_io::text::split_integers(&value, &[','], false) {
        Some(integers) => Ok(Some(integers)),
        None => {
            Err(line.error(format!("{key}={value}: expected integers separated by commas, such as -1,0,1")))
        }
    }
}

/// A standard deviation; absent or negative means 1/sqrt(dim).
pub(in crate::component) fn get_stddev_or_default(
    line: &mut ConfigLine,
    key: &str,
    dim: usize,
) -> Result<f32> {
    let given = line.get_f32(key)?.filter(|stddev| *stddev >= 0.0);
    Ok(given.unwrap_or_else(|| (1.0 / (dim as f64).sqrt()) as f32))
}

/// A rank; absent or negative means half the dimension, at most `most`.
pub(in crate::component) fn get_rank(
    line: &mut ConfigLine,
    key: &str,
    dim: usize,
    most: usize,
) -> Result<usize> {
    match line.get_i32(key)? {
        Some(0) => Err(line.error(format!("{key}: a rank must not be 0"))),
        rank => Ok(rank.and_then(|rank| usize::try_from(rank).ok()).unwrap_or(dim.div_ceil(2).min(most))),
    }
}

/// `<RankInOut>` and two ranks, greater than 0.
pub(in crate::component) fn read_ranks(r: &mut KaldiReader) -> Result<(usize, usize)> {
    r.expect_token("<RankInOut>")?;
    let (rank_in, rank_out) = (r.read_i32()?, r.read_i32()?);
    fields::check(r, rank_in > 0 && rank_out > 0, || {
        format!("<RankInOut>: expected two ranks greater than 0, found {rank_in} and {rank_out}")
    })?;
    Ok((rank_in as usize, rank_out as usize))
}

/// Fails if the settings are unusable.
pub(in crate::component) fn check_preconditioners(
    line: &ConfigLine,
    new: Preconditioners,
) -> Result<Preconditioners> {
    match new.input.defect().or(new.output.defect()) {
        Some(defect) => Err(line.error(defect)),
        None => Ok(new),
    }
}
