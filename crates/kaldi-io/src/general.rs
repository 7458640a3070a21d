//! A matrix in the form in which it is stored: full, compressed or sparse (`GeneralMatrix` in
//! `matrix/sparse-matrix.h`).

use crate::compressed::{CompressedMatrix, CompressionMethod};
use crate::contents::Contents;
use crate::error::{IoError, Result};
use crate::matrix::DenseMatrix;
use crate::object::KaldiObject;
use crate::reader::KaldiReader;
use crate::sparse::SparseMatrix;
use crate::writer::KaldiWriter;

#[derive(Debug, Clone, PartialEq)]
pub enum GeneralMatrix {
    Full(DenseMatrix<f32>),
    Compressed(CompressedMatrix),
    Sparse(SparseMatrix),
}

impl Default for GeneralMatrix {
    fn default() -> Self {
        GeneralMatrix::Full(DenseMatrix::default())
    }
}

impl From<DenseMatrix<f32>> for GeneralMatrix {
    fn from(m: DenseMatrix<f32>) -> Self {
        GeneralMatrix::Full(m)
    }
}

impl From<CompressedMatrix> for GeneralMatrix {
    fn from(m: CompressedMatrix) -> Self {
        GeneralMatrix::Compressed(m)
    }
}

impl From<SparseMatrix> for GeneralMatrix {
    fn from(m: SparseMatrix) -> Self {
        GeneralMatrix::Sparse(m)
    }
}

impl GeneralMatrix {
    pub fn rows(&self) -> usize {
        match self {
            GeneralMatrix::Full(m) => m.rows,
            GeneralMatrix::Compressed(m) => m.rows(),
            GeneralMatrix::Sparse(m) => m.rows.len(),
        }
    }

    pub fn cols(&self) -> usize {
        match self {
            GeneralMatrix::Full(m) => m.cols,
            GeneralMatrix::Compressed(m) => m.cols(),
            GeneralMatrix::Sparse(m) => m.cols(),
        }
    }

    pub fn to_dense(&self) -> DenseMatrix<f32> {
        match self {
            GeneralMatrix::Full(m) => m.clone(),
            GeneralMatrix::Compressed(m) => m.to_dense(),
            GeneralMatrix::Sparse(m) => m.to_dense(),
        }
    }

    /// Does the same as [`to_dense`](Self::to_dense), but does not copy a full matrix.
    pub fn into_dense(self) -> DenseMatrix<f32> {
        match self {
            GeneralMatrix::Full(m) => m,
            other => other.to_dense(),
        }
    }

    /// The parts below one another: sparse if all parts with rows are, otherwise full. Parts without rows do not
    /// count; the others must have the same number of columns.
    pub fn append_rows(parts: Vec<GeneralMatrix>) -> Result<GeneralMatrix> {
        let mut parts: Vec<_> = parts.into_iter().filter(|part| part.rows() > 0).collect();
        let Some(first) = parts.first() else { return Ok(GeneralMatrix::default()) };
        let cols = first.cols();
        if let Some(other) = parts.iter().find(|part| part.cols() != cols) {
            let other = other.cols();
            return Err(IoError::Value(format!(
                "matrices with {cols} and {other} columns cannot be joined by rows"
            )));
        }
        if parts.len() == 1 && !matches!(first, GeneralMatrix::Compressed(_)) {
            return Ok(parts.swap_remove(0));
        }
        let all_sparse = parts.iter().all(|part| matches!(part, GeneralMatrix::Sparse(_)));
        if all_sparse {
            let rows = parts.into_iter().flat_map(|part| match part {
                GeneralMatrix::Sparse(m) => m.rows,
                GeneralMatrix::Full(_) | GeneralMatrix::Compressed(_) => Vec::new(),
            });
            return Ok(GeneralMatrix::Sparse(SparseMatrix { rows: rows.collect() }));
        }
        let mut whole = DenseMatrix::new(parts.iter().map(GeneralMatrix::rows).sum(), cols);
        let mut rest = &mut whole.data[..];
        for part in parts {
            let (own, others) = rest.split_at_mut(part.rows() * cols);
            match part {
                GeneralMatrix::Full(m) => own.copy_from_slice(&m.data),
                GeneralMatrix::Compressed(m) => m.decode(own),
                GeneralMatrix::Sparse(m) => own.copy_from_slice(&m.to_dense().data),
            }
            rest = others;
        }
        Ok(GeneralMatrix::Full(whole))
    }

    /// Compresses a full matrix with the automatic method. Other forms stay unchanged.
    pub fn compress(&mut self) -> Result<()> {
        if let GeneralMatrix::Full(m) = self
            && m.rows > 0
        {
            *self = GeneralMatrix::Compressed(CompressedMatrix::compress(m, CompressionMethod::Automatic)?);
        }
        Ok(())
    }

    /// `n` rows from row `first` on, in the same form. Rows outside the matrix repeat its first or last row if
    /// `replicate`, and are an error otherwise.
    pub fn extract_rows(&self, first: i64, n: usize, replicate: bool) -> Result<GeneralMatrix> {
        if n == 0 {
            return Ok(GeneralMatrix::default());
        }
        let rows = self.rows() as i64;
        let inside = first >= 0 && first.saturating_add(n as i64) <= rows;
        if rows == 0 || !(inside || replicate) {
            return Err(IoError::Value(format!(
                "rows {first} to {} of a matrix with {rows}",
                first + n as i64 - 1
            )));
        }
        if let GeneralMatrix::Compressed(m) = self {
            return Ok(GeneralMatrix::Compressed(m.sub_rows(first, n)?));
        }
        let source: Vec<usize> =
            (0..n as i64).map(|row| first.saturating_add(row).clamp(0, rows - 1) as usize).collect();
        self.select_rows(&source)
    }

    /// The given rows in that order. The result is sparse if this is, otherwise full.
    pub fn select_rows(&self, rows: &[usize]) -> Result<GeneralMatrix> {
        if let Some(bad) = rows.iter().find(|&&row| row >= self.rows()) {
            return Err(IoError::Value(format!("row {bad} of a matrix with {} rows", self.rows())));
        }
        let select = |m: &DenseMatrix<f32>| {
            let mut data = Vec::with_capacity(rows.len() * m.cols);
            rows.iter().for_each(|&row| data.extend_from_slice(m.row(row)));
            let cols = if rows.is_empty() { 0 } else { m.cols };
            GeneralMatrix::Full(DenseMatrix { rows: rows.len(), cols, data })
        };
        Ok(match self {
            GeneralMatrix::Full(m) => select(m),
            GeneralMatrix::Compressed(m) => select(&m.to_dense()),
            GeneralMatrix::Sparse(m) => GeneralMatrix::Sparse(SparseMatrix {
                rows: rows.iter().map(|&row| m.rows[row].clone()).collect(),
            }),
        })
    }

    /// Reads a matrix of any form.
    pub fn read(r: &mut KaldiReader) -> Result<Self> {
        if !r.binary() {
            r.skip_whitespace()?;
        }
        Ok(match (r.peek_byte()?, r.binary()) {
            (Some(b'C'), true) => GeneralMatrix::Compressed(CompressedMatrix::read(r)?),
            (Some(b'S'), true) | (Some(b'r'), false) => GeneralMatrix::Sparse(SparseMatrix::read(r)?),
            _ => GeneralMatrix::Full(DenseMatrix::read(r)?),
        })
    }

    /// Writes the form it has; a matrix without rows as a full 0×0 one.
    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        match self {
            _ if self.rows() == 0 => DenseMatrix::<f32>::default().write(w),
            GeneralMatrix::Full(m) => m.write(w),
            GeneralMatrix::Compressed(m) => m.write(w),
            GeneralMatrix::Sparse(m) => m.write(w),
        }
    }
}

impl KaldiObject for GeneralMatrix {
    fn reads(contents: &Contents) -> bool {
        contents.is_matrix()
    }
    fn read(r: &mut KaldiReader) -> Result<Self> {
        GeneralMatrix::read(r)
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        GeneralMatrix::write(self, w)
    }
}
