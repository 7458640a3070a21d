//! Similarity of two tables of features, column by column.

use kaldi_io::DenseMatrix;

/// Sums over all frames, one for each column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// Σ a², Σ b², Σ a·b.
    pub first: Vec<f64>,
    pub second: Vec<f64>,
    pub cross: Vec<f64>,
}

impl Comparison {
    /// Adds an utterance of both tables. The error explains a mismatch.
    pub fn add(&mut self, a: &DenseMatrix<f32>, b: &DenseMatrix<f32>) -> Result<(), String> {
        if (a.rows, a.cols) != (b.rows, b.cols) {
            return Err(format!(
                "{}×{} in the first table, {}×{} in the second",
                a.rows, a.cols, b.rows, b.cols
            ));
        }
        if self.first.is_empty() {
            [&mut self.first, &mut self.second, &mut self.cross]
                .into_iter()
                .for_each(|sum| sum.resize(a.cols, 0.0));
        }
        if self.first.len() != a.cols {
            return Err(format!("{} columns, those before had {}", a.cols, self.first.len()));
        }
        for t in 0..a.rows {
            for (d, (&x, &y)) in a.row(t).iter().zip(b.row(t)).enumerate() {
                let (x, y) = (f64::from(x), f64::from(y));
                self.first[d] += x * x;
                self.second[d] += y * y;
                self.cross[d] += x * y;
            }
        }
        Ok(())
    }

    /// 2 Σ a·b / (Σ a² + Σ b²) of each column: 1 if both are equal.
    pub fn similarities(&self) -> Vec<f64> {
        let sums = self.first.iter().zip(&self.second).zip(&self.cross);
        sums.map(|((a, b), cross)| 2.0 * cross / (a + b)).collect()
    }

    /// The mean over columns.
    pub fn overall(&self) -> f64 {
        self.similarities().iter().sum::<f64>() / self.first.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_of_columns() {
        let a = DenseMatrix::from_rows(&[[1.0, 2.0], [3.0, 0.0]]);
        let b = DenseMatrix::from_rows(&[[1.0, -2.0], [3.0, 0.0]]);
        let mut sums = Comparison::default();
        sums.add(&a, &b).unwrap();
        assert_eq!((sums.similarities(), sums.overall()), (vec![1.0, -1.0], 0.0));
        assert!(sums.add(&a, &DenseMatrix::new(1, 2)).unwrap_err().contains("2×2"));
        let other = DenseMatrix::new(1, 3);
        assert!(sums.add(&other, &other).unwrap_err().contains("those before had 2"));
    }
}
