//! Matrices and vectors as text: `[` values `]`, one line a row for matrices.
//!
//! Reading follows Kaldi's character by character, with one addition: `-inf` and `-nan`, which Kaldi writes but
//! cannot read, are accepted.

use super::{DenseMatrix, Real};
use crate::error::Result;
use crate::log::Site;
use crate::reader::KaldiReader;
use crate::text::{excerpt, found, is_space};
use crate::writer::KaldiWriter;

const SITE: Site = Site::new("Read", "kaldi-matrix.cc", 1600);

/// A matrix with `cols` columns.
pub(super) fn write_matrix<T: Real>(w: &mut KaldiWriter, cols: usize, values: &[T]) -> Result<()> {
    if values.is_empty() {
        return w.write_bytes(b" [ ]\n");
    }
    w.write_bytes(b" [")?;
    for row in values.chunks_exact(cols) {
        w.write_bytes(b"\n  ")?;
        row.iter().try_for_each(|v| w.write_text_real(v.to_f64()))?;
    }
    w.write_bytes(b"]\n")
}

pub(super) fn write_vector<T: Real>(w: &mut KaldiWriter, values: &[T]) -> Result<()> {
    w.write_bytes(b" [ ")?;
    values.iter().try_for_each(|v| w.write_text_real(v.to_f64()))?;
    w.write_bytes(b"]\n")
}

/// Reads the word that must be `[`; false if it was `[]`, an empty matrix or vector.
fn read_opening(r: &mut KaldiReader, what: &str) -> Result<bool> {
    r.skip_whitespace()?;
    let mut word = Vec::new();
    r.read_word_into(&mut word)?;
    match &word[..] {
        b"[" => Ok(true),
        b"[]" => Ok(false),
        b"" => Err(r.error(format!("expected '[' of a {what}, found the end of the file"))),
        other => Err(r.error(format!("expected '[' and a blank of a {what}, found {}", found(other)))),
    }
}

/// Skips one line end after `]`, which the writer would have written.
fn skip_line_end(r: &mut KaldiReader) -> Result<()> {
    if r.peek_byte()? == Some(b'\r') {
        r.next_byte()?;
    }
    if r.peek_byte()? == Some(b'\n') {
        r.next_byte()?;
    }
    Ok(())
}

/// Reads a number, or one of the words `inf`, `infinity`, `nan`; those are not finite.
fn read_value<T: Real>(r: &mut KaldiReader) -> Result<T> {
    let first = r.peek_byte()?;
    if first.is_some_and(|b| b.is_ascii_digit()) || (first == Some(b'-') && !minus_word(r)?) {
        let word = r.read_text_number(true, "a number")?;
        return match T::parse(&word) {
            Some(value) if value.to_f64().is_finite() => Ok(value),
            _ => Err(r.error(format!("'{word}' is not a number in range"))),
        };
    }
    let mut word = Vec::new();
    while let Some(byte) =
        r.peek_byte()?.filter(|&b| !is_space(b) && b != b']' && b != b';' && word.len() < 20)
    {
        word.push(byte);
        r.next_byte()?;
    }
    let value = match word.to_ascii_lowercase().as_slice() {
        b"inf" | b"infinity" => f64::INFINITY,
        b"-inf" | b"-infinity" => f64::NEG_INFINITY,
        b"nan" | b"-nan" => f64::NAN,
        _ if word.is_empty() => return Err(r.error_expected("a number or ']'")),
        _ => return Err(r.error(format!("expected a number, found '{}'", excerpt(&word)))),
    };
    Ok(T::from_f64(value))
}

/// True if a letter follows a minus sign.
fn minus_word(r: &mut KaldiReader) -> Result<bool> {
    r.fill(2)?;
    Ok(r.buffered().get(1).is_some_and(u8::is_ascii_alphabetic))
}

fn warn_not_finite<T: Real>(r: &KaldiReader, values: &[T], what: &str) {
    if values.iter().any(|v| !v.to_f64().is_finite()) {
        crate::log::kaldi_warn!(SITE, "Reading infinite or NaN value into {what} ({})", r.name());
    }
}

pub(super) fn read_matrix<T: Real>(r: &mut KaldiReader) -> Result<DenseMatrix<T>> {
    let mut m = DenseMatrix::default();
    if !read_opening(r, "matrix")? {
        return Ok(m);
    }
    let mut row_start = 0;
    loop {
        let byte = r.peek_byte()?;
        match byte {
            Some(b']' | b'\n' | b';') => {
                r.next_byte()?;
                let length = m.data.len() - row_start;
                if length > 0 {
                    if m.rows > 0 && length != m.cols {
                        let (row, cols) = (m.rows, m.cols);
                        return Err(
                            r.error(format!("row {row} has {length} numbers, those before have {cols}"))
                        );
                    }
                    m.cols = length;
                    m.rows += 1;
                    row_start = m.data.len();
                }
                if byte == Some(b']') {
                    break;
                }
            }
            Some(byte) if is_space(byte) => {
                r.next_byte()?;
            }
            Some(_) => m.data.push(read_value(r)?),
            None => return Err(r.error("the file ends within a matrix, before its ']'")),
        }
    }
    skip_line_end(r)?;
    warn_not_finite(r, &m.data, "matrix");
    Ok(m)
}

pub(super) fn read_vector<T: Real>(r: &mut KaldiReader) -> Result<Vec<T>> {
    let mut values = Vec::new();
    if !read_opening(r, "vector")? {
        return Ok(values);
    }
    loop {
        match r.peek_byte()? {
            Some(b']') => break,
            Some(b' ' | b'\t') => {
                r.next_byte()?;
            }
            Some(b'\n' | b'\r') => {
                return Err(
                    r.error("a vector must be on one line (is the ']' missing, or is this a matrix?)")
                );
            }
            Some(_) => {
                values.push(read_value(r)?);
                if r.peek_byte()?.is_some_and(|b| !is_space(b) && b != b']') {
                    return Err(r.error_expected("a blank after a number"));
                }
            }
            None => return Err(r.error("the file ends within a vector, before its ']'")),
        }
    }
    r.next_byte()?;
    skip_line_end(r)?;
    warn_not_finite(r, &values, "vector");
    Ok(values)
}
