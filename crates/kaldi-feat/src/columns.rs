//! Selecting dimensions: `0,24-22,3-12`.

use crate::error::{Error, Result};
use kaldi_io::DenseMatrix;
use kaldi_io::text::parse_integer;

/// Columns in the order in which they are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns(Vec<usize>);

impl Columns {
    /// Numbers and ranges (both ends included, upwards or downwards) separated by commas.
    pub fn parse(text: &str) -> Result<Self> {
        let bad =
            |part: &str| Error::options(format!("'{part}' in '{text}': expected columns like 0,24-22,3-12"));
        let mut columns = Vec::new();
        for part in text.split(',') {
            let number = |text: &str| parse_integer::<u16>(text).map(usize::from).ok_or_else(|| bad(part));
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(part)?, number(part)?),
            };
            if first <= last {
                columns.extend(first..=last);
            } else {
                columns.extend((last..=first).rev());
            }
        }
        Ok(Columns(columns))
    }

    /// Checks that features of this dimension have all the columns.
    pub fn check(&self, dim: usize) -> Result<()> {
        match self.0.iter().find(|&&column| column >= dim) {
            Some(column) => Err(Error::data(format!(
                "expected columns below {dim}, the dimension of the features, found {column}"
            ))),
            None => Ok(()),
        }
    }

    pub fn select(&self, features: &DenseMatrix<f32>) -> Result<DenseMatrix<f32>> {
        if features.rows == 0 {
            return Ok(DenseMatrix::default());
        }
        self.check(features.cols)?;
        let rows = (0..features.rows).map(|t| features.row(t));
        let data = rows.flat_map(|row| self.0.iter().map(|&column| row[column])).collect();
        Ok(DenseMatrix { rows: features.rows, cols: self.0.len(), data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges() {
        assert_eq!(Columns::parse("0,24-22,3-5,10-11").unwrap().0, [0, 24, 23, 22, 3, 4, 5, 10, 11]);
        for bad in ["", "1,", "a", "1-", "-1", "1-2-3", "1.5"] {
            assert!(Columns::parse(bad).is_err(), "{bad}");
        }
        let features = DenseMatrix::from_rows(&[[0.0f32, 1.0, 2.0], [3.0, 4.0, 5.0]]);
        let selected = Columns::parse("2,0-1").unwrap().select(&features).unwrap();
        assert_eq!(selected, DenseMatrix::from_rows(&[[2.0, 0.0, 1.0], [5.0, 3.0, 4.0]]));
        let error = Columns::parse("1,3").unwrap().select(&features).unwrap_err().to_string();
        assert!(error.contains("columns below 3") && error.contains("found 3"), "{error}");
    }
}
