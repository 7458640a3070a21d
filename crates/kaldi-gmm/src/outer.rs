//! Sums of outer products of vectors with themselves, with a weight for each of several matrices.
//!
//! MLLT and fMLLR need, for each dimension d of features, G_d = Σ w_d · v vᵀ over frames. Vectors and weights are
//! collected. A product of two matrices then adds them to all G_d at once.

use nalgebra::{DMatrix, DVector};

/// Vectors that are collected before they are multiplied.
const BLOCK: usize = 16;

/// Symmetric matrices G_d.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OuterSums {
    /// A column for each matrix: its lower triangle, row after row.
    sums: DMatrix<f64>,
    size: usize,
    /// A column for each vector that waits: its outer product with itself, and the weights.
    products: DMatrix<f64>,
    weights: DMatrix<f64>,
    waiting: usize,
}

impl OuterSums {
    /// So many matrices of size × size.
    pub fn new(count: usize, size: usize) -> OuterSums {
        let packed = size * (size + 1) / 2;
        OuterSums {
            sums: DMatrix::zeros(packed, count),
            size,
            products: DMatrix::zeros(packed, BLOCK),
            weights: DMatrix::zeros(count, BLOCK),
            waiting: 0,
        }
    }

    /// Adds weight d times the outer product of a vector to matrix d, for all d.
    pub fn add(&mut self, weights: impl Iterator<Item = f64>, vector: &[f64]) {
        let mut products = self.products.column_mut(self.waiting);
        let mut place = 0;
        for (i, &x) in vector.iter().enumerate() {
            for (product, &y) in products.as_mut_slice()[place..=place + i].iter_mut().zip(vector) {
                *product = x * y;
            }
            place += i + 1;
        }
        let mut column = self.weights.column_mut(self.waiting);
        column.iter_mut().zip(weights).for_each(|(to, weight)| *to = weight);
        self.waiting += 1;
        if self.waiting == BLOCK {
            self.flush();
        }
    }

    /// Brings the sums up to date.
    pub fn flush(&mut self) {
        let (products, weights) =
            (self.products.columns(0, self.waiting), self.weights.columns(0, self.waiting));
        if self.waiting > 0 {
            self.sums.gemm(1.0, &products, &weights.transpose(), 1.0);
        }
        self.waiting = 0;
    }

    /// The lower triangle of a matrix; up to date after [`flush`](Self::flush).
    pub fn packed(&self, matrix: usize) -> &[f64] {
        let packed = self.size * (self.size + 1) / 2;
        &self.sums.as_slice()[matrix * packed..(matrix + 1) * packed]
    }

    /// Changes the lower triangle of a matrix.
    pub fn packed_mut(&mut self, matrix: usize) -> &mut [f64] {
        let packed = self.size * (self.size + 1) / 2;
        &mut self.sums.as_mut_slice()[matrix * packed..(matrix + 1) * packed]
    }

    /// A matrix; up to date after [`flush`](Self::flush).
    pub fn get(&self, matrix: usize) -> DMatrix<f64> {
        let packed = self.packed(matrix);
        DMatrix::from_fn(self.size, self.size, |i, j| packed[i.max(j) * (i.max(j) + 1) / 2 + i.min(j)])
    }

    /// The product of a matrix and a vector.
    pub fn times(&self, matrix: usize, vector: &[f64]) -> DVector<f64> {
        let packed = self.packed(matrix);
        let mut out = DVector::zeros(self.size);
        let mut place = 0;
        for i in 0..self.size {
            for (j, &value) in packed[place..place + i].iter().enumerate() {
                out[i] += value * vector[j];
                out[j] += value * vector[i];
            }
            out[i] += packed[place + i] * vector[i];
            place += i + 1;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products() {
        let mut sums = OuterSums::new(2, 3);
        let mut expected = [DMatrix::zeros(3, 3), DMatrix::zeros(3, 3)];
        for n in 0..BLOCK + 5 {
            let vector: Vec<f64> = (0..3).map(|d| ((n * 7 + d * 3) % 11) as f64 - 4.0).collect();
            let column = DVector::from_column_slice(&vector);
            let weights = [n as f64, 1.0 - 0.5 * n as f64];
            for (sum, weight) in expected.iter_mut().zip(weights) {
                *sum += weight * &column * column.transpose();
            }
            sums.add(weights.into_iter(), &vector);
        }
        sums.flush();
        sums.flush();
        for (d, expected) in expected.iter().enumerate() {
            assert!((sums.get(d) - expected).amax() < 1e-9 * expected.amax());
            let vector = [1.0, -2.0, 0.5];
            assert!((sums.times(d, &vector) - expected * DVector::from_column_slice(&vector)).amax() < 1e-6);
        }
    }
}
