//! Sums of matrices and of vectors.

use kaldi_io::Real;
use kaldi_io::holder::{Holder, MatrixHolder, VectorHolder};
use kaldi_io::{DenseMatrix, KaldiObject};

/// A type whose values can be added up.
pub trait Summand: KaldiObject + Clone + Send + 'static {
    /// The same kind of numbers in double precision.
    type Double: Default;
    /// Holder of this type in tables.
    type Holder: Holder<T = Self>;
    /// The name that messages use.
    const NAME: &'static str;
    const PLURAL: &'static str;

    fn is_empty(&self) -> bool;
    /// The dimensions, for messages.
    fn dims(&self) -> String;
    fn same_dims(&self, other: &Self) -> bool;
    fn scale(&mut self, factor: f32);
    /// Adds `factor · other`, which has the same dimensions.
    fn add(&mut self, other: &Self, factor: f32);
    /// Adds statistics of other dimensions. `self` grows to the larger dimensions, and both are extended by zeros.
    fn add_growing(&mut self, other: &Self);
    /// Adds to a sum in double precision, which takes the dimensions of the first summand.
    fn add_to(&self, sum: &mut Self::Double);
    /// Single precision again, multiplied by `factor`.
    fn from_double(sum: &Self::Double, factor: f64) -> Self;
    /// True if a sum in double precision has the dimensions of this value, or no dimensions yet.
    fn fits(&self, sum: &Self::Double) -> bool;
    fn double_dims(sum: &Self::Double) -> String;
}

fn add_slices(to: &mut [f32], from: &[f32], factor: f32) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

fn add_double(to: &mut [f64], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += f64::from(*from));
}

fn matrix_dims<T: Real>(m: &DenseMatrix<T>) -> String {
    format!("{}×{}", m.rows, m.cols)
}

impl Summand for DenseMatrix<f32> {
    type Double = DenseMatrix<f64>;
    type Holder = MatrixHolder;
    const NAME: &'static str = "matrix";
    const PLURAL: &'static str = "matrices";

    fn is_empty(&self) -> bool {
        self.data.is_empty()
    }
    fn dims(&self) -> String {
        matrix_dims(self)
    }
    fn same_dims(&self, other: &Self) -> bool {
        (self.rows, self.cols) == (other.rows, other.cols)
    }
    fn scale(&mut self, factor: f32) {
        self.data.iter_mut().for_each(|x| *x *= factor);
    }
    fn add(&mut self, other: &Self, factor: f32) {
        add_slices(&mut self.data, &other.data, factor);
    }
    fn add_growing(&mut self, other: &Self) {
        let mut sum = DenseMatrix::new(self.rows.max(other.rows), self.cols.max(other.cols));
        for m in [&*self, other] {
            (0..m.rows).for_each(|i| add_slices(sum.row_mut(i), m.row(i), 1.0));
        }
        *self = sum;
    }
    fn add_to(&self, sum: &mut DenseMatrix<f64>) {
        if sum.data.is_empty() {
            *sum = DenseMatrix::new(self.rows, self.cols);
        }
        add_double(&mut sum.data, &self.data);
    }
    fn from_double(sum: &DenseMatrix<f64>, factor: f64) -> Self {
        let data = sum.data.iter().map(|x| (x * factor) as f32).collect();
        DenseMatrix { rows: sum.rows, cols: sum.cols, data }
    }
    fn fits(&self, sum: &DenseMatrix<f64>) -> bool {
        sum.data.is_empty() || (sum.rows, sum.cols) == (self.rows, self.cols)
    }
    fn double_dims(sum: &DenseMatrix<f64>) -> String {
        matrix_dims(sum)
    }
}

impl Summand for Vec<f32> {
    type Double = Vec<f64>;
    type Holder = VectorHolder;
    const NAME: &'static str = "vector";
    const PLURAL: &'static str = "vectors";

    fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }
    fn dims(&self) -> String {
        self.len().to_string()
    }
    fn same_dims(&self, other: &Self) -> bool {
        self.len() == other.len()
    }
    fn scale(&mut self, factor: f32) {
        self.iter_mut().for_each(|x| *x *= factor);
    }
    fn add(&mut self, other: &Self, factor: f32) {
        add_slices(self, other, factor);
    }
    fn add_growing(&mut self, other: &Self) {
        self.resize(self.len().max(other.len()), 0.0);
        add_slices(self, other, 1.0);
    }
    fn add_to(&self, sum: &mut Vec<f64>) {
        if sum.is_empty() {
            *sum = vec![0.0; self.len()];
        }
        add_double(sum, self);
    }
    fn from_double(sum: &Vec<f64>, factor: f64) -> Self {
        sum.iter().map(|x| (x * factor) as f32).collect()
    }
    fn fits(&self, sum: &Vec<f64>) -> bool {
        sum.is_empty() || sum.len() == self.len()
    }
    fn double_dims(sum: &Vec<f64>) -> String {
        sum.len().to_string()
    }
}

/// The sum of all rows, accumulated in double precision.
pub fn sum_rows(m: &DenseMatrix<f32>) -> Vec<f32> {
    let mut sum = vec![0.0; m.cols];
    (0..m.rows).for_each(|i| add_double(&mut sum, m.row(i)));
    sum.into_iter().map(|x| x as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let a = DenseMatrix::from_rows(&[[1.0f32, 2.0], [3.0, 4.0]]);
        let b = DenseMatrix::from_rows(&[[10.0f32, 20.0, 30.0]]);
        let mut sum = a.clone();
        sum.add_growing(&b);
        assert_eq!(sum, DenseMatrix::from_rows(&[[11.0, 22.0, 30.0], [3.0, 4.0, 0.0]]));
        let mut double = DenseMatrix::default();
        assert!(a.fits(&double));
        a.add_to(&mut double);
        a.add_to(&mut double);
        assert!(a.fits(&double) && !b.fits(&double));
        assert_eq!(DenseMatrix::from_double(&double, 0.5), a);
        assert_eq!(sum_rows(&a), [4.0, 6.0]);
        let mut vector = vec![1.0f32];
        vector.add_growing(&vec![1.0, 2.0]);
        assert_eq!(vector, [2.0, 2.0]);
    }

    /// 2²⁴ + 1 + … + 1 stays 2²⁴ in single precision.
    #[test]
    fn row_sums_are_accumulated_in_double_precision() {
        let mut m = DenseMatrix { rows: 1025, cols: 1, data: vec![1.0f32; 1025] };
        m.data[0] = 16_777_216.0;
        assert_eq!(sum_rows(&m), [16_778_240.0]);
    }
}
