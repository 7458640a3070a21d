//! Symmetric and triangular matrices (`matrix/packed-matrix.cc`): the lower triangle, row after row.
//!
//! Binary: `FP `/`DP ` I32(n) and n(n+1)/2 values. Text: `[` newline, one line a row, `]`; an older text form,
//! `FP n value value …`, is also read.

use crate::error::{IoError, Result};
use crate::number::Real;
use crate::object::KaldiObject;
use crate::reader::KaldiReader;
use crate::writer::KaldiWriter;

/// The lower triangle of an n×n matrix: (0,0), (1,0), (1,1), (2,0), …
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PackedMatrix<T> {
    pub dim: usize,
    /// The `dim * (dim + 1) / 2` values.
    pub data: Vec<T>,
}

/// A packed matrix with an upper half that mirrors the stored one.
pub type SymmetricMatrix<T> = PackedMatrix<T>;

impl<T: Real> PackedMatrix<T> {
    /// A matrix of zeros.
    pub fn new(dim: usize) -> Self {
        PackedMatrix { dim, data: vec![T::default(); dim * (dim + 1) / 2] }
    }

    /// Index in `data` of element (row, col) of the lower triangle, or of its mirror image.
    pub fn offset(row: usize, col: usize) -> usize {
        let (row, col) = (row.max(col), row.min(col));
        row * (row + 1) / 2 + col
    }

    /// Element (row, col) of the symmetric matrix.
    pub fn get(&self, row: usize, col: usize) -> T {
        self.data[Self::offset(row, col)]
    }

    pub fn convert<U: Real>(&self) -> PackedMatrix<U> {
        PackedMatrix { dim: self.dim, data: self.data.iter().map(|v| U::from_f64(v.to_f64())).collect() }
    }

    /// Reads a packed matrix of either precision.
    pub fn read(r: &mut KaldiReader) -> Result<Self> {
        if !r.binary() {
            r.skip_whitespace()?;
        }
        match r.peek_byte()? {
            Some(first) if char::from(first) == T::OTHER_LETTER => {
                if T::LETTER == 'F' {
                    Ok(PackedMatrix::<f64>::read_own(r)?.convert())
                } else {
                    Ok(PackedMatrix::<f32>::read_own(r)?.convert())
                }
            }
            Some(b'[') if !r.binary() => Self::read_bracketed(r),
            _ => Self::read_own(r),
        }
    }

    fn read_own(r: &mut KaldiReader) -> Result<Self> {
        r.expect_token(&format!("{}P", T::LETTER))?;
        let dim = r.read_i32().and_then(|n| r.check_count(n, "rows"))?;
        let count = dim * (dim + 1) / 2;
        let data = if r.binary() {
            r.read_growing(count, T::read_raw)?
        } else {
            r.read_growing(count, |r, out: &mut [T]| {
                out.iter_mut().try_for_each(|v| r.read_f64().map(|value| *v = T::from_f64(value)))
            })?
        };
        Ok(PackedMatrix { dim, data })
    }

    fn read_bracketed(r: &mut KaldiReader) -> Result<Self> {
        r.expect_token("[")?;
        let mut data: Vec<T> = Vec::new();
        loop {
            r.skip_whitespace()?;
            if r.peek_byte()? == Some(b']') {
                break;
            }
            data.push(T::from_f64(r.read_f64()?));
        }
        r.next_byte()?;
        if r.peek_byte()? == Some(b'\r') {
            r.next_byte()?;
        }
        if r.peek_byte()? == Some(b'\n') {
            r.next_byte()?;
        }
        let dim = (2 * data.len()).isqrt();
        if dim * (dim + 1) / 2 != data.len() {
            return Err(r.error(format!("{} numbers do not make a packed matrix", data.len())));
        }
        Ok(PackedMatrix { dim, data })
    }

    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        if self.data.len() != self.dim * (self.dim + 1) / 2 {
            let (dim, have) = (self.dim, self.data.len());
            return Err(IoError::Value(format!("a packed matrix of dimension {dim} holds {have} numbers")));
        }
        if w.binary() {
            w.write_token(&format!("{}P", T::LETTER))?;
            w.write_i32(w.count(self.dim)?)?;
            return T::write_raw(w, &self.data);
        }
        if self.dim == 0 {
            return w.write_bytes(b"[ ]\n");
        }
        w.write_bytes(b"[\n")?;
        for row in 0..self.dim {
            let start = Self::offset(row, 0);
            self.data[start..=start + row].iter().try_for_each(|v| w.write_text_real(v.to_f64()))?;
            w.write_bytes(if row + 1 == self.dim { b"]\n" } else { b"\n" })?;
        }
        Ok(())
    }
}

impl<T: Real> KaldiObject for PackedMatrix<T> {
    fn read(r: &mut KaldiReader) -> Result<Self> {
        PackedMatrix::read(r)
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        PackedMatrix::write(self, w)
    }
}
