//! Sparse vectors and matrices (`matrix/sparse-matrix.cc`): labels and posteriors in examples.
//!
//! Vector, binary: `SV ` I32(dim) I32(n) then n × (I32(index) F32(value)); text: `dim=5 [ 0 0.5 3 1 ] `.
//! Matrix, binary: `SM ` I32(rows) then the rows as vectors; text: `rows=2 ` rows `\n`.

use crate::contents::Contents;
use crate::error::{IoError, Result};
use crate::matrix::DenseMatrix;
use crate::object::KaldiObject;
use crate::reader::KaldiReader;
use crate::text::excerpt;
use crate::writer::KaldiWriter;

/// The number of rows from which on Kaldi takes a file for corrupt.
const TOO_MANY_ROWS: usize = 10_000_000;

/// Pairs for which there is room before any has been seen.
const MOST_AT_ONCE: usize = 4096;

/// Nonzero values with their indexes, which increase strictly and are below `dim`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseVector {
    pub dim: usize,
    pub pairs: Vec<(i32, f32)>,
}

/// Rows that all have the same dimension.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseMatrix {
    pub rows: Vec<SparseVector>,
}

/// The number in `name=number`.
fn read_assignment(r: &mut KaldiReader, name: &str) -> Result<usize> {
    r.skip_whitespace()?;
    let mut word = Vec::new();
    r.read_word_into(&mut word)?;
    let number = std::str::from_utf8(&word)
        .ok()
        .and_then(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse::<i32>().ok());
    match number {
        Some(number) => r.check_count(number, "rows or elements"),
        None => Err(r.error(format!("expected '{name}=' and a number, found '{}'", excerpt(&word)))),
    }
}

impl SparseVector {
    /// Makes a vector of dimension `dim`. Pairs may come in any order. Values with the same index are added, and zeros
    /// are dropped. An index out of range is an error.
    pub fn new(dim: usize, mut pairs: Vec<(i32, f32)>) -> Result<Self> {
        pairs.sort_by_key(|pair| pair.0);
        pairs.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        pairs.retain(|pair| pair.1 != 0.0);
        if let Some((index, _)) = pairs.iter().find(|pair| usize::try_from(pair.0).map_or(true, |i| i >= dim))
        {
            return Err(IoError::Value(format!(
                "index {index} is not below the dimension {dim} of a sparse vector"
            )));
        }
        Ok(SparseVector { dim, pairs })
    }

    pub fn read(r: &mut KaldiReader) -> Result<Self> {
        let mut vector = SparseVector::default();
        if r.binary() {
            r.expect_token("SV")?;
            vector.dim = r.read_i32().and_then(|n| r.check_count(n, "elements"))?;
            let count = r.read_i32().and_then(|n| r.check_count(n, "elements"))?;
            if count > vector.dim {
                return Err(
                    r.error(format!("a sparse vector of dimension {} has {count} elements", vector.dim))
                );
            }
            vector.pairs.reserve_exact(count.min(MOST_AT_ONCE));
            for _ in 0..count {
                vector.read_pair(r)?;
            }
            return Ok(vector);
        }
        vector.dim = read_assignment(r, "dim")?;
        r.skip_whitespace()?;
        r.expect_token("[")?;
        loop {
            r.skip_whitespace()?;
            if r.peek_byte()? == Some(b']') {
                r.next_byte()?;
                return Ok(vector);
            }
            vector.read_pair(r)?;
        }
    }

    fn read_pair(&mut self, r: &mut KaldiReader) -> Result<()> {
        let pair = (r.read_i32()?, r.read_f32()?);
        let in_range = usize::try_from(pair.0).is_ok_and(|index| index < self.dim);
        let in_order = self.pairs.last().is_none_or(|last| last.0 < pair.0);
        if !in_range || !in_order {
            let (index, dim) = (pair.0, self.dim);
            return Err(r.error(format!(
                "index {index} of a sparse vector is not in order below its dimension {dim}"
            )));
        }
        self.pairs.push(pair);
        Ok(())
    }

    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        if w.binary() {
            w.write_token("SV")?;
            w.write_i32(w.count(self.dim)?)?;
            w.write_i32(w.count(self.pairs.len())?)?;
        } else {
            w.write_str(&format!("dim={} [ ", self.dim))?;
        }
        for &(index, value) in &self.pairs {
            w.write_i32(index)?;
            w.write_f32(value)?;
        }
        if w.binary() { Ok(()) } else { w.write_bytes(b"] ") }
    }
}

impl SparseMatrix {
    /// The dimension of the first row; 0 if there are no rows.
    pub fn cols(&self) -> usize {
        self.rows.first().map_or(0, |row| row.dim)
    }

    pub fn to_dense(&self) -> DenseMatrix<f32> {
        let mut m = DenseMatrix::new(self.rows.len(), self.cols());
        for (i, row) in self.rows.iter().enumerate() {
            let out = m.row_mut(i);
            for &(index, value) in &row.pairs {
                out[index as usize] = value;
            }
        }
        m
    }

    pub fn read(r: &mut KaldiReader) -> Result<Self> {
        let count = if r.binary() {
            r.expect_token("SM")?;
            r.read_i32().and_then(|n| r.check_count(n, "rows"))?
        } else {
            read_assignment(r, "rows")?
        };
        if count >= TOO_MANY_ROWS {
            return Err(r.error(format!("the number of rows of a sparse matrix, {count}, is too large")));
        }
        let mut rows: Vec<SparseVector> = Vec::with_capacity(count.min(MOST_AT_ONCE));
        for _ in 0..count {
            let row = SparseVector::read(r)?;
            if let Some(first) = rows.first()
                && first.dim != row.dim
            {
                let (dim, first) = (row.dim, first.dim);
                return Err(r.error(format!("row {} has dimension {dim}, the first has {first}", rows.len())));
            }
            rows.push(row);
        }
        Ok(SparseMatrix { rows })
    }

    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        if w.binary() {
            w.write_token("SM")?;
            w.write_i32(w.count(self.rows.len())?)?;
        } else {
            w.write_str(&format!("rows={} ", self.rows.len()))?;
        }
        self.rows.iter().try_for_each(|row| row.write(w))?;
        w.newline_in_text()
    }
}

impl KaldiObject for SparseVector {
    fn reads(contents: &Contents) -> bool {
        *contents == Contents::SparseMatrix
    }
    fn read(r: &mut KaldiReader) -> Result<Self> {
        SparseVector::read(r)
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        SparseVector::write(self, w)
    }
}

impl KaldiObject for SparseMatrix {
    fn reads(contents: &Contents) -> bool {
        contents.is_matrix()
    }
    fn read(r: &mut KaldiReader) -> Result<Self> {
        SparseMatrix::read(r)
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        SparseMatrix::write(self, w)
    }
}
