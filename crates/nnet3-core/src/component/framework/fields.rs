//! Fields of component files: a token and a value, checked as it is read.

use crate::component::{Key, Kind, parameters};
use crate::config::ConfigLine;
use crate::error::Result;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_matrix::{Accumulator, Matrix};

/// A key of a config line. An empty `default` means that it is required.
pub const fn key(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Key {
    Key { name, kind, default, meaning }
}

/// Reads `token` and an integer greater than 0.
pub(crate) fn read_dim(r: &mut KaldiReader, token: &str) -> Result<usize> {
    r.expect_token(token)?;
    dim(r, token)
}

/// Reads an integer greater than 0, the value of `token`, which has been read.
pub fn dim(r: &mut KaldiReader, token: &str) -> Result<usize> {
    let value = r.read_i32()?;
    match usize::try_from(value) {
        Ok(dim) if dim > 0 => Ok(dim),
        _ => Err(r.error(format!("{token}: expected an integer greater than 0, found {value}")).into()),
    }
}

pub fn read_i32(r: &mut KaldiReader, token: &str) -> Result<i32> {
    r.expect_token(token)?;
    Ok(r.read_i32()?)
}

pub fn read_f32(r: &mut KaldiReader, token: &str) -> Result<f32> {
    r.expect_token(token)?;
    Ok(r.read_f32()?)
}

pub fn read_f64(r: &mut KaldiReader, token: &str) -> Result<f64> {
    r.expect_token(token)?;
    Ok(r.read_f64()?)
}

pub fn read_bool(r: &mut KaldiReader, token: &str) -> Result<bool> {
    r.expect_token(token)?;
    Ok(r.read_bool()?)
}

/// Reads `token` and a vector, as a matrix with one row.
pub(crate) fn read_row(r: &mut KaldiReader, token: &str) -> Result<Matrix> {
    r.expect_token(token)?;
    crate::component::read_row(r)
}

/// Reads `token` and a vector of `dim` or no elements, in double precision.
pub fn read_stats(r: &mut KaldiReader, token: &str, dim: usize) -> Result<Vec<f64>> {
    r.expect_token(token)?;
    stats(r, token, dim)
}

/// As [`read_stats`] after `token` has been read.
pub fn stats(r: &mut KaldiReader, token: &str, dim: usize) -> Result<Vec<f64>> {
    let values = kaldi_io::matrix::read_vector::<f64>(r)?;
    check(r, values.is_empty() || values.len() == dim, || {
        format!("{token}: expected {dim} elements, found {}", values.len())
    })?;
    Ok(values)
}

/// The value of `token` if it comes next, else `default`.
pub(crate) fn optional_f32(r: &mut KaldiReader, token: &str, default: f32) -> Result<f32> {
    if r.accept_token(token)? { Ok(r.read_f32()?) } else { Ok(default) }
}

/// As [`optional_f32`], for a truth value that is false if the token is missing.
pub(crate) fn optional_bool(r: &mut KaldiReader, token: &str) -> Result<bool> {
    if r.accept_token(token)? { Ok(r.read_bool()?) } else { Ok(false) }
}

/// An error at the reader's place, unless `good`.
pub fn check(r: &KaldiReader, good: bool, message: impl FnOnce() -> String) -> Result<()> {
    if good { Ok(()) } else { Err(r.error(message()).into()) }
}

/// Fails unless `block` divides `dim`.
pub(crate) fn check_block(r: &KaldiReader, dim: usize, block: usize) -> Result<()> {
    check(r, dim.is_multiple_of(block), || format!("the block dimension {block} does not divide {dim}"))
}

/// Fails unless `value` lies in [0, 1].
pub(crate) fn check_proportion(r: &KaldiReader, token: &str, value: f32) -> Result<()> {
    check(r, (0.0..=1.0).contains(&value), || {
        format!("{token}: expected a number from 0 to 1, found {value}")
    })
}

pub fn write_i32(w: &mut KaldiWriter, token: &str, value: i32) -> Result<()> {
    w.write_token(token)?;
    Ok(w.write_i32(value)?)
}

/// Writes `value`, which came from a 32-bit field or key.
pub(crate) fn write_dim(w: &mut KaldiWriter, token: &str, value: usize) -> Result<()> {
    write_i32(w, token, value as i32)
}

pub fn write_f32(w: &mut KaldiWriter, token: &str, value: f32) -> Result<()> {
    w.write_token(token)?;
    Ok(w.write_f32(value)?)
}

pub fn write_f64(w: &mut KaldiWriter, token: &str, value: f64) -> Result<()> {
    w.write_token(token)?;
    Ok(w.write_f64(value)?)
}

pub fn write_bool(w: &mut KaldiWriter, token: &str, value: bool) -> Result<()> {
    w.write_token(token)?;
    Ok(w.write_bool(value)?)
}

pub fn write_vector(w: &mut KaldiWriter, token: &str, values: &[f32]) -> Result<()> {
    w.write_token(token)?;
    Ok(kaldi_io::matrix::write_vector(w, values)?)
}

pub(crate) fn write_row(w: &mut KaldiWriter, token: &str, row: &Matrix) -> Result<()> {
    write_vector(w, token, &row.to_vec())
}

/// The sums divided by `count` (unchanged if it is 0), with the reference's roundings.
pub fn averages(sums: &Accumulator, count: f64) -> Vec<f32> {
    let factor = if count == 0.0 { 1.0 } else { (1.0 / count) as f32 };
    sums.values().iter().map(|&sum| sum as f32 * factor).collect()
}

/// Reads `<InputDim>` and `<OutputDim>`, which divides it.
pub(crate) fn read_divided_dims(r: &mut KaldiReader) -> Result<(usize, usize)> {
    let input_dim = read_dim(r, "<InputDim>")?;
    let output_dim = read_dim(r, "<OutputDim>")?;
    check(r, input_dim.is_multiple_of(output_dim), || {
        format!("the output dimension {output_dim} does not divide the input dimension {input_dim}")
    })?;
    Ok((input_dim, output_dim))
}

/// Takes `input-dim` and `output-dim`, which divides it.
pub(crate) fn divided_dims(line: &mut ConfigLine) -> Result<(usize, usize)> {
    let (input_dim, output_dim) = (line.require_dim("input-dim")?, line.require_dim("output-dim")?);
    parameters::check_divides(line, "input-dim", input_dim, "output-dim", output_dim)?;
    Ok((input_dim, output_dim))
}

pub(crate) fn write_dims(w: &mut KaldiWriter, input_dim: usize, output_dim: usize) -> Result<()> {
    write_dim(w, "<InputDim>", input_dim)?;
    write_dim(w, "<OutputDim>", output_dim)
}

/// A key's number from `least` on.
pub(crate) fn get_at_least(line: &mut ConfigLine, key: &str, least: f32, default: f32) -> Result<f32> {
    let value = line.get_f32(key)?.unwrap_or(default);
    match value >= least && value.is_finite() {
        true => Ok(value),
        false => Err(line.error(format!("{key} must be at least {least}, found {value}"))),
    }
}

/// A key's number greater than 0.
pub(crate) fn get_positive(line: &mut ConfigLine, key: &str, default: f32) -> Result<f32> {
    let value = line.get_f32(key)?.unwrap_or(default);
    match value > 0.0 && value.is_finite() {
        true => Ok(value),
        false => Err(line.error(format!("{key} must be greater than 0, found {value}"))),
    }
}

/// A key's number from 0 to 1.
pub fn proportion(line: &ConfigLine, key: &str, value: f32) -> Result<f32> {
    match (0.0..=1.0).contains(&value) {
        true => Ok(value),
        false => Err(line.error(format!("{key} must be from 0 to 1, found {value}"))),
    }
}

/// Fails unless a number from a file is greater than 0.
pub(crate) fn check_positive(r: &KaldiReader, token: &str, value: f32) -> Result<()> {
    check(r, value > 0.0 && value.is_finite(), || {
        format!("{token}: expected a number greater than 0, found {value}")
    })
}
