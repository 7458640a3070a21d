//! Functions of each number, or each row, of a matrix.

use crate::error::{Error, Result};
use kaldi_io::DenseMatrix;

/// What logarithms are taken of at least.
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
            Some(Function::SoftmaxOfRows) => (0..m.rows).for_each(|i| softmax(m.row_mut(i))),
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

fn softmax(row: &mut [f32]) {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for x in row.iter_mut() {
        *x = (*x - largest).exp();
        sum += *x;
    }
    row.iter_mut().for_each(|x| *x /= sum);
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
}
