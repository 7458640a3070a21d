//! Tokens and values of files outside of [`crate::declared`]: statistics, precomputed indexes, older forms.

use crate::{Key, Kind};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;
use nnet3_matrix::{Accumulator, Matrix};

/// A key of a config line. An empty `default` means that it is required.
pub const fn key(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Key {
    Key { name, kind, default: std::borrow::Cow::Borrowed(default), meaning }
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
    crate::read_row(r)
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

/// An error at the reader's place, unless `good`.
pub fn check(r: &KaldiReader, good: bool, message: impl FnOnce() -> String) -> Result<()> {
    if good { Ok(()) } else { Err(r.error(message()).into()) }
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
