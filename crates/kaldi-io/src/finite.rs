//! Finds NaN and infinite values in input data.

use std::fmt;

use crate::compressed::CompressedMatrix;
use crate::general::GeneralMatrix;
use crate::matrix::DenseMatrix;
use crate::number::Real;

/// A value of a matrix that is not a finite number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NotFinite {
    /// The row, from 0; where rows are frames, the frame.
    pub row: usize,
    pub column: usize,
    pub value: f64,
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotFinite { row, column, value } = *self;
        let value = if value.is_nan() { "nan".to_owned() } else { value.to_string() };
        write!(f, "frame {row} has the value {value} in column {column}")
    }
}

/// Returns the position of the first value that is not finite. Whole blocks are examined first, because a block rarely
/// has such a value.
fn position<T: Real>(values: &[T]) -> Option<usize> {
    const BLOCK: usize = 1024;
    let bad = |value: &T| !value.to_f64().is_finite();
    let all_fine = |block: &[T]| block.iter().fold(true, |fine, value| fine & !bad(value));
    let first = values.chunks(BLOCK).position(|block| !all_fine(block))? * BLOCK;
    Some(first + values[first..].iter().position(bad)?)
}

/// True if all values are finite.
pub fn all_finite<T: Real>(values: &[T]) -> bool {
    position(values).is_none()
}

impl<T: Real> DenseMatrix<T> {
    /// The first value that is not a finite number.
    pub fn not_finite(&self) -> Option<NotFinite> {
        let at = position(&self.data)?;
        Some(self.at(at))
    }

    /// The first NaN. (Infinite values may be logarithms of probabilities.)
    pub fn not_a_number(&self) -> Option<NotFinite> {
        let at = self.data.iter().position(|value| value.to_f64().is_nan())?;
        Some(self.at(at))
    }

    fn at(&self, position: usize) -> NotFinite {
        let (row, column) = (position / self.cols, position % self.cols);
        NotFinite { row, column, value: self.data[position].to_f64() }
    }
}

impl GeneralMatrix {
    /// The first value that is not a finite number.
    pub fn not_finite(&self) -> Option<NotFinite> {
        match self {
            GeneralMatrix::Full(m) => m.not_finite(),
            // Compressed matrices have been checked before, unless the file is damaged.
            GeneralMatrix::Compressed(m) => {
                if m.has_finite_scale() {
                    None
                } else {
                    CompressedMatrix::to_dense(m).not_finite()
                }
            }
            GeneralMatrix::Sparse(m) => m.rows.iter().enumerate().find_map(|(row, pairs)| {
                let (column, value) = pairs.pairs.iter().find(|(_, value)| !value.is_finite())?;
                Some(NotFinite { row, column: *column as usize, value: f64::from(*value) })
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparse::{SparseMatrix, SparseVector};

    #[test]
    fn the_first_one_is_found() {
        let mut m = DenseMatrix::<f32>::new(400, 7);
        assert_eq!(m.not_finite(), None);
        m.row_mut(399)[2] = f32::INFINITY;
        assert_eq!(m.not_finite(), Some(NotFinite { row: 399, column: 2, value: f64::INFINITY }));
        m.row_mut(200)[6] = f32::NAN;
        let found = GeneralMatrix::Full(m).not_finite().unwrap();
        assert_eq!(found.to_string(), "frame 200 has the value nan in column 6");
        let rows = vec![SparseVector::default(), SparseVector { dim: 3, pairs: vec![(2, f32::NAN)] }];
        let sparse = GeneralMatrix::Sparse(SparseMatrix { rows });
        assert_eq!(sparse.not_finite().map(|found| (found.row, found.column)), Some((1, 2)));
    }
}
