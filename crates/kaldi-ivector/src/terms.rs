//! Products of an extractor's matrices that estimates of i-vectors need.

use std::num::NonZero;

use kaldi_io::{DenseMatrix, SymmetricMatrix};
use kaldi_numerics::triangle;

use crate::extractor::IvectorExtractor;
use crate::parallel;
use crate::products::{Rows, add_product};

/// Σ_g⁻¹ M_g and M_gᵀ Σ_g⁻¹ M_g of each Gaussian g, where M_g is its projection and Σ_g its covariance.
#[derive(Debug)]
pub struct IvectorTerms {
    num_gauss: usize,
    feature_dim: usize,
    ivector_dim: usize,
    prior_offset: f64,
    /// Σ_g⁻¹ M_g for all g: (Gaussians · feature dimension) × i-vector dimension, row after row.
    linear: Vec<f64>,
    /// M_gᵀ Σ_g⁻¹ M_g for all g: a row each, its lower triangle.
    quadratic: Vec<f64>,
}

impl IvectorTerms {
    /// Computes the products on so many threads.
    pub fn new(extractor: &IvectorExtractor, threads: NonZero<usize>) -> Self {
        let (count, rows, cols) = (extractor.num_gauss(), extractor.feature_dim(), extractor.ivector_dim());
        let mut linear = vec![0.0; count * rows * cols];
        let mut quadratic = vec![0.0; count * triangle::len(cols)];
        let outputs = linear
            .chunks_exact_mut((rows * cols).max(1))
            .zip(quadratic.chunks_exact_mut(triangle::len(cols).max(1)));
        let tasks = outputs.zip(extractor.projections.iter().zip(&extractor.inverse_covariances));
        parallel::for_each(threads, tasks.collect(), |((linear, quadratic), (m, inverse))| {
            triangle::pack(&products(m, inverse, linear), quadratic);
        });
        let prior_offset = extractor.prior_offset;
        IvectorTerms {
            num_gauss: count,
            feature_dim: rows,
            ivector_dim: cols,
            prior_offset,
            linear,
            quadratic,
        }
    }

    pub fn num_gauss(&self) -> usize {
        self.num_gauss
    }
    pub fn feature_dim(&self) -> usize {
        self.feature_dim
    }
    pub fn ivector_dim(&self) -> usize {
        self.ivector_dim
    }

    /// The first element of the mean of the prior; the others are 0.
    pub fn prior_offset(&self) -> f64 {
        self.prior_offset
    }

    /// Rows of Σ_g⁻¹ M_g for a range of Gaussians.
    pub(crate) fn linear(&self, gaussians: std::ops::Range<usize>) -> &[f64] {
        let size = self.feature_dim * self.ivector_dim;
        &self.linear[gaussians.start * size..gaussians.end * size]
    }

    /// The lower triangles of M_gᵀ Σ_g⁻¹ M_g for a range of Gaussians.
    pub(crate) fn quadratic(&self, gaussians: std::ops::Range<usize>) -> &[f64] {
        let size = triangle::len(self.ivector_dim);
        &self.quadratic[gaussians.start * size..gaussians.end * size]
    }
}

/// Writes Σ⁻¹ M into `linear`, row after row, and returns Mᵀ Σ⁻¹ M.
pub(crate) fn products(
    m: &DenseMatrix<f64>,
    inverse: &SymmetricMatrix<f64>,
    linear: &mut [f64],
) -> nalgebra::DMatrix<f64> {
    let (rows, cols) = (m.rows, m.cols);
    let inverse = triangle::unpack(&inverse.data, rows);
    let m = Rows::new(&m.data, rows, cols);
    linear.fill(0.0);
    add_product(linear, Rows::new(inverse.as_slice(), rows, rows).plain(), m);
    let mut quadratic = nalgebra::DMatrix::zeros(cols, cols);
    add_product(quadratic.as_mut_slice(), m.transposed(), Rows::new(linear, rows, cols));
    quadratic
}

/// Adds `factor` times a vector.
pub(crate) fn add_scaled(to: &mut [f64], from: &[f64], factor: f64) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random;

    #[test]
    fn terms_are_products_and_do_not_depend_on_threads() {
        let (rows, cols) = (3, 5);
        let extractor = random(7, rows, cols, 2);
        let one = IvectorTerms::new(&extractor, NonZero::<usize>::MIN);
        for threads in [1, 3, 20] {
            let terms = IvectorTerms::new(&extractor, NonZero::new(threads).unwrap());
            assert_eq!((terms.num_gauss(), terms.feature_dim(), terms.ivector_dim()), (7, rows, cols));
            assert_eq!((&terms.linear, &terms.quadratic), (&one.linear, &one.quadratic));
            for g in 0..7 {
                let (m, s) = (&extractor.projections[g], &extractor.inverse_covariances[g]);
                let (found_linear, found) = (terms.linear(g..g + 1), terms.quadratic(g..g + 1));
                let linear = |k: usize, i: usize| (0..rows).map(|l| s.get(k, l) * m.row(l)[i]).sum::<f64>();
                for i in 0..cols {
                    (0..rows).for_each(|k| assert!((found_linear[k * cols + i] - linear(k, i)).abs() < 1e-9));
                    for j in 0..=i {
                        let expected: f64 = (0..rows).map(|k| m.row(k)[i] * linear(k, j)).sum();
                        assert!((found[i * (i + 1) / 2 + j] - expected).abs() < 1e-9);
                    }
                }
            }
        }
    }
}
