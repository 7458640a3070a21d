//! Functions of each number, or each row, of a matrix; products and maxima of several.

use crate::error::{Error, Result};
use kaldi_io::DenseMatrix;
use kaldi_numerics::soft_max::soft_max;

/// Smallest argument of logarithms.
const LOG_FLOOR: f32 = 1e-20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Log,
    Exp,
    SoftmaxOfRows,
}

/// First the scale, then the function, then the power.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub scale: f32,
    pub function: Option<Function>,
    pub power: f32,
}

impl Change {
    /// A power that has no real value is an error.
    pub fn apply(&self, m: &mut DenseMatrix<f32>) -> Result<()> {
        if self.scale != 1.0 {
            m.data.iter_mut().for_each(|x| *x *= self.scale);
        }
        match self.function {
            None => {}
            Some(Function::Log) => m.data.iter_mut().for_each(|x| *x = x.max(LOG_FLOOR).ln()),
            Some(Function::Exp) => m.data.iter_mut().for_each(|x| *x = x.exp()),
            Some(Function::SoftmaxOfRows) => (0..m.rows).for_each(|i| soft_max(m.row_mut(i))),
        }
        if self.power != 1.0 {
            for x in &mut m.data {
                let value = x.powf(self.power);
                if value.is_nan() && !x.is_nan() {
                    return Err(Error::data(format!("{x} to the power of {} has no real value", self.power)));
                }
                *x = value;
            }
        }
        Ok(())
    }
}

/// Multiplies vectors element by element, up to the end of the shortest. If lengths differ by more than `tolerance`, returns
/// the largest and the least length.
pub fn product(vectors: &[Vec<f32>], tolerance: usize) -> std::result::Result<Vec<f32>, (usize, usize)> {
    let lengths = vectors.iter().map(Vec::len);
    let (longest, shortest) = (lengths.clone().max().unwrap_or(0), lengths.min().unwrap_or(0));
    if longest - shortest > tolerance {
        return Err((longest, shortest));
    }
    Ok((0..shortest).map(|i| vectors.iter().map(|vector| vector[i]).product()).collect())
}

/// Element-wise maximum of matrices with the rows of the shortest. Elements are 0 at least.
#[derive(Debug, Default)]
pub struct Maximum {
    so_far: Option<DenseMatrix<f32>>,
}

impl Maximum {
    /// Adds a matrix. It is an error if it has another number of columns than those before.
    pub fn add(&mut self, matrix: &DenseMatrix<f32>) -> Result<()> {
        let zeros = || DenseMatrix {
            rows: matrix.rows,
            cols: matrix.cols,
            data: vec![0.0; matrix.rows * matrix.cols],
        };
        let so_far = self.so_far.get_or_insert_with(zeros);
        if so_far.cols != matrix.cols {
            return Err(Error::data(format!("{} columns, those before have {}", matrix.cols, so_far.cols)));
        }
        so_far.rows = so_far.rows.min(matrix.rows);
        so_far.data.truncate(so_far.rows * so_far.cols);
        so_far.data.iter_mut().zip(&matrix.data).for_each(|(max, &x)| *max = max.max(x));
        Ok(())
    }

    /// The maximum; `None` if there was no matrix.
    pub fn finish(self) -> Option<DenseMatrix<f32>> {
        self.so_far
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    fn apply(scale: f32, function: Option<Function>, power: f32, data: &[f32]) -> Result<Vec<f32>> {
        let mut m = DenseMatrix { rows: 1, cols: data.len(), data: data.to_vec() };
        Change { scale, function, power }.apply(&mut m)?;
        Ok(m.data)
    }

    #[test]
    fn scale_function_power() {
        let data = [1.0, 2.0, 0.0];
        let of = |f: fn(f64) -> f64| data.map(|x| f(x.into())).to_vec();
        let close =
            |found: Result<Vec<f32>>, expected: Vec<f64>| assert_close(&found.unwrap(), &expected, 1e-6);
        close(apply(3.0, None, 2.0, &data), of(|x| (3.0 * x).powi(2)));
        close(apply(0.5, Some(Function::Exp), 0.5, &data), of(|x| (0.25 * x).exp()));
        close(apply(2.0, Some(Function::Log), 1.0, &data), of(|x| (2.0 * x).max(1e-20).ln()));
        let sum = 1f64.exp() + 2f64.exp() + 1.0;
        let softmax = vec![1f64.exp() / sum, 2f64.exp() / sum, 1.0 / sum];
        close(apply(1.0, Some(Function::SoftmaxOfRows), 1.0, &data), softmax);
        assert!(apply(1.0, None, 0.5, &[-1.0]).unwrap_err().to_string().contains("-1 to the power of 0.5"));
    }

    #[test]
    fn products_and_maxima() {
        let vectors = [vec![1.0, 2.0, 3.0], vec![4.0, 5.0], vec![-1.0, 0.5, 7.0]];
        assert_eq!(product(&vectors, 1), Ok(vec![-4.0, 5.0]));
        assert_eq!(product(&vectors, 0), Err((3, 2)));
        let mut maximum = Maximum::default();
        for rows in [vec![vec![1.0, -2.0], vec![3.0, -4.0]], vec![vec![0.5, -1.0]]] {
            maximum.add(&DenseMatrix::from_rows(&rows)).unwrap();
        }
        let error = maximum.add(&DenseMatrix::from_rows(&[vec![1.0]])).unwrap_err().to_string();
        assert_eq!(error, "1 columns, those before have 2");
        assert_eq!(maximum.finish(), Some(DenseMatrix::from_rows(&[vec![1.0, 0.0]])));
        assert_eq!(Maximum::default().finish(), None);
    }
}
