//! Full matrices and vectors of `f32` or `f64` (`matrix/kaldi-matrix.cc`, `kaldi-vector.cc`).
//!
//! Binary: `FM `/`DM ` I32(rows) I32(cols) and the rows without padding; `FV `/`DV ` I32(dim) and the values. Either
//! precision can be read as the other, and a compressed matrix as a full one. Text is in `matrix/text_form.rs`,
//! a form of our own with a byte an element in `matrix/rounded.rs`.

mod rounded;
mod text_form;

use crate::compressed::CompressedMatrix;
use crate::contents::Contents;
use crate::error::{IoError, Result};
use crate::number::Real;
use crate::object::KaldiObject;
use crate::reader::KaldiReader;
use crate::writer::KaldiWriter;

/// A matrix, row after row without padding: `data.len() == rows * cols`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DenseMatrix<T> {
    pub rows: usize,
    pub cols: usize,
    pub data: Vec<T>,
}

impl<T: Real> DenseMatrix<T> {
    /// A matrix of zeros.
    pub fn new(rows: usize, cols: usize) -> Self {
        DenseMatrix { rows, cols, data: vec![T::default(); rows * cols] }
    }

    /// A matrix with these rows.
    ///
    /// # Panics
    /// If the rows differ in length.
    pub fn from_rows<R: AsRef<[T]>>(rows: &[R]) -> Self {
        let cols = rows.first().map_or(0, |row| row.as_ref().len());
        let mut data = Vec::with_capacity(rows.len() * cols);
        for row in rows {
            assert_eq!(row.as_ref().len(), cols, "rows of a matrix must have the same length");
            data.extend_from_slice(row.as_ref());
        }
        DenseMatrix { rows: rows.len(), cols, data }
    }

    pub fn row(&self, i: usize) -> &[T] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        &mut self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// The numbers in the other (or the same) precision.
    pub fn convert<U: Real>(&self) -> DenseMatrix<U> {
        DenseMatrix { rows: self.rows, cols: self.cols, data: convert(&self.data) }
    }

    /// `rows` rows from `first_row` on and `cols` columns from `first_col` on.
    ///
    /// # Panics
    /// If that is not within the matrix.
    pub fn block(&self, first_row: usize, rows: usize, first_col: usize, cols: usize) -> Self {
        let mut data = Vec::with_capacity(rows * cols);
        for i in first_row..first_row + rows {
            data.extend_from_slice(&self.row(i)[first_col..first_col + cols]);
        }
        DenseMatrix { rows, cols, data }
    }

    /// The part that a range `rows` or `rows,cols` of a script file means.
    pub fn extract_range(&self, range: &str) -> Result<Self> {
        let ((first_row, rows), (first_col, cols)) =
            crate::filename::matrix_range(range, self.rows, self.cols)?;
        Ok(self.block(first_row, rows, first_col, cols))
    }

    /// Reads a full matrix of either precision or a compressed one, in binary or text.
    pub fn read(r: &mut KaldiReader) -> Result<Self> {
        if !r.binary() {
            return text_form::read_matrix(r);
        }
        match r.peek_byte()? {
            Some(b'C') => Ok(CompressedMatrix::read(r)?.to_dense().convert()),
            Some(b'S') => Err(r.error("expected a full matrix, found a sparse one")),
            Some(b'B') => rounded::read(r),
            Some(first) if char::from(first) == T::OTHER_LETTER => {
                if T::LETTER == 'F' {
                    Ok(read_binary::<f64>(r)?.convert())
                } else {
                    Ok(read_binary::<f32>(r)?.convert())
                }
            }
            _ => read_binary(r),
        }
    }

    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        if self.data.len() != self.rows * self.cols {
            let (rows, cols, have) = (self.rows, self.cols, self.data.len());
            return Err(IoError::Value(format!("a {rows}×{cols} matrix holds {have} numbers")));
        }
        write_matrix(w, self.rows, self.cols, &self.data)
    }
}

/// Writes a matrix of `rows` × `cols` `values`, row after row, as [`DenseMatrix::write`] does. A matrix without rows or
/// without columns is written as 0 × 0: Kaldi's readers stop at any other empty size (`MatrixBase::Resize`).
///
/// # Panics
/// If the number of values is not rows · cols.
pub fn write_matrix<T: Real>(w: &mut KaldiWriter, rows: usize, cols: usize, values: &[T]) -> Result<()> {
    assert_eq!(values.len(), rows * cols, "values of a {rows}×{cols} matrix");
    if !w.binary() {
        return text_form::write_matrix(w, cols, values);
    }
    if w.writes_whole_numbers_as_bytes() && rounded::write(w, rows, cols, values)? {
        return Ok(());
    }
    let (rows, cols) = if values.is_empty() { (0, 0) } else { (rows, cols) };
    w.write_token(&format!("{}M", T::LETTER))?;
    w.write_i32(w.count(rows)?)?;
    w.write_i32(w.count(cols)?)?;
    T::write_raw(w, values)
}

fn convert<T: Real, U: Real>(values: &[T]) -> Vec<U> {
    values.iter().map(|v| U::from_f64(v.to_f64())).collect()
}

fn read_binary<T: Real>(r: &mut KaldiReader) -> Result<DenseMatrix<T>> {
    r.expect_token(&format!("{}M", T::LETTER))?;
    let (rows, cols, count) = size(r)?;
    let data = read_values::<T>(r, Some(rows), cols, count)?;
    Ok(DenseMatrix { rows, cols, data })
}

/// Rows, columns and elements of a binary matrix. A matrix without rows or without columns is 0 × 0.
fn size(r: &mut KaldiReader) -> Result<(usize, usize, usize)> {
    let rows = r.read_i32().and_then(|n| r.check_count(n, "rows"))?;
    let cols = r.read_i32().and_then(|n| r.check_count(n, "columns"))?;
    if rows == 0 || cols == 0 {
        return Ok((0, 0, 0)); // (Numpy knows 0 × 13 and 13 × 0, too.)
    }
    let count = rows.checked_mul(cols).ok_or_else(|| r.error(format!("{rows}×{cols} is too large")))?;
    Ok((rows, cols, count))
}

/// The values of a binary matrix, or, without `rows`, of a vector.
fn read_values<T: Real>(
    r: &mut KaldiReader,
    rows: Option<usize>,
    cols: usize,
    count: usize,
) -> Result<Vec<T>> {
    let first = r.position();
    let values = r.read_growing(count, T::read_raw)?;
    r.note_values(first, rows, cols, T::LETTER == 'D');
    Ok(values)
}

/// Reads a vector of either precision, in binary or text.
pub fn read_vector<T: Real>(r: &mut KaldiReader) -> Result<Vec<T>> {
    if !r.binary() {
        return text_form::read_vector(r);
    }
    match r.peek_byte()? {
        Some(first) if char::from(first) == T::OTHER_LETTER => {
            if T::LETTER == 'F' {
                Ok(convert(&read_binary_vector::<f64>(r)?))
            } else {
                Ok(convert(&read_binary_vector::<f32>(r)?))
            }
        }
        _ => read_binary_vector(r),
    }
}

fn read_binary_vector<T: Real>(r: &mut KaldiReader) -> Result<Vec<T>> {
    r.expect_token(&format!("{}V", T::LETTER))?;
    let dim = r.read_i32().and_then(|n| r.check_count(n, "elements"))?;
    read_values::<T>(r, None, dim, dim)
}

pub fn write_vector<T: Real>(w: &mut KaldiWriter, values: &[T]) -> Result<()> {
    if !w.binary() {
        return text_form::write_vector(w, values);
    }
    w.write_token(&format!("{}V", T::LETTER))?;
    w.write_i32(w.count(values.len())?)?;
    T::write_raw(w, values)
}

impl<T: Real> KaldiObject for DenseMatrix<T> {
    fn read(r: &mut KaldiReader) -> Result<Self> {
        DenseMatrix::read(r)
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        DenseMatrix::write(self, w)
    }
    fn reads(contents: &Contents) -> bool {
        matches!(contents, Contents::Matrix | Contents::CompressedMatrix)
    }
}

impl<T: Real> KaldiObject for Vec<T> {
    fn read(r: &mut KaldiReader) -> Result<Self> {
        read_vector(r)
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        write_vector(w, self)
    }
    fn reads(contents: &Contents) -> bool {
        *contents == Contents::Vector
    }
}
