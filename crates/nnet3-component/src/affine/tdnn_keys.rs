//! Config keys and file fields that Tdnn and TimeHeightConvolution share.

use crate::Component;
use crate::declared::*;
use crate::parameters::stddev_for;
use crate::preconditioners::take_rank;
use nnet3_base::config::ConfigLine;
use nnet3_base::error::Result;

/// Integers separated by commas, none empty.
pub(crate) fn get_integers(line: &mut ConfigLine, key: &str) -> Result<Option<Vec<i32>>> {
    let Some(value) = line.get_string(key) else { return Ok(None) };
    match kaldi_io::text::split_integers(&value, &[','], false) {
        Some(integers) => Ok(Some(integers)),
        None => {
            Err(line.error(format!("{key}={value}: expected integers separated by commas, such as -1,0,1")))
        }
    }
}

/// Takes a standard deviation; absent or negative means 1/sqrt(terms).
pub(crate) fn take_stddev<C: Component>(
    f: &mut Fields<'_, C>,
    field: &Field<f32>,
    terms: usize,
) -> Result<f32> {
    let default = stddev_for(terms);
    let given = f.key_or(field, default)?;
    Ok(if given >= 0.0 { given } else { default })
}

/// Takes a rank; absent or negative means half the dimension, at most `most`.
pub(crate) fn take_half_rank<C: Component>(
    f: &mut Fields<'_, C>,
    field: &Field<usize>,
    dim: usize,
    most: usize,
) -> Result<usize> {
    take_rank(f, field, dim.div_ceil(2).min(most), |key| format!("{key}: a rank must not be 0"))
}
