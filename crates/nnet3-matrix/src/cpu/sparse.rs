//! Products with sparse rows on the host.

use super::CpuBackend;
use super::access::split;
use crate::sparse::{SparseProducts, SparseRows};
use crate::view::{View, ViewMut};

impl SparseProducts for CpuBackend {
    fn add_product(&self, dst: ViewMut<'_>, x: &SparseRows, first: usize, matrix: View<'_>) {
        assert_eq!(dst.cols(), matrix.rows(), "shape of the product");
        assert!(first + dst.rows() <= x.rows(), "rows");
        assert_eq!(x.cols(), matrix.cols(), "columns");
        let (mut dst, [matrix]) = split(dst, [matrix]);
        for (i, elements) in x.iter().skip(first).take(dst.rows()).enumerate() {
            for (o, out) in dst.row(i).iter_mut().enumerate() {
                let row = matrix.row(o);
                *out += elements.iter().map(|&(col, value)| value * row[col]).sum::<f32>();
            }
        }
    }

    fn add_gradient(&self, dst: ViewMut<'_>, alpha: f32, derivs: View<'_>, x: &SparseRows, first: usize) {
        assert_eq!((dst.rows(), dst.cols()), (derivs.cols(), x.cols()), "shape of the gradient");
        assert!(first + derivs.rows() <= x.rows(), "rows");
        let (mut dst, [derivs]) = split(dst, [derivs]);
        for (i, elements) in x.iter().skip(first).take(derivs.rows()).enumerate() {
            for (o, &deriv) in derivs.row(i).iter().enumerate() {
                let row = dst.row(o);
                elements.iter().for_each(|&(col, value)| row[col] += alpha * deriv * value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::cpu;
    use crate::{Gemm, Matrix};

    /// Compares with products of the same rows as a dense matrix. Some rows are empty; columns come in any order and
    /// may repeat.
    #[test]
    fn products_with_sparse_rows() {
        const OUT: usize = 5;
        let device = cpu();
        let sparse = device.sparse().unwrap();
        let mut x = SparseRows::new(40);
        for row in [&[(3, 1.0)][..], &[], &[(39, -0.5), (0, 2.0), (39, 0.25)], &[(7, 1.5)]] {
            x.push(row.iter().copied());
        }
        let dense = Matrix::from_vec(x.rows(), x.cols(), x.to_dense(0..x.rows()));
        let random = |rows, cols, key| {
            let mut matrix = Matrix::zeros(&device, rows, cols);
            device.fill_normal(matrix.view_mut(), key);
            matrix
        };
        let near = |found: &Matrix, expected: &Matrix| {
            let (found, expected) = (found.to_vec(), expected.to_vec());
            found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5)
        };
        for first in [0, 1] {
            let rows = x.rows() - first;
            let dense = dense.view().row_range(first..x.rows());
            let (w, e) = (random(OUT, x.cols(), 1), random(rows, OUT, 2));
            let mut outputs = [random(rows, OUT, 3), random(rows, OUT, 3)];
            sparse.add_product(outputs[0].view_mut(), &x, first, w.view());
            device.gemm(Gemm::add(outputs[1].view_mut(), dense, w.view().transposed()));
            assert!(near(&outputs[0], &outputs[1]));
            let mut gradients = [random(OUT, x.cols(), 4), random(OUT, x.cols(), 4)];
            sparse.add_gradient(gradients[0].view_mut(), 0.5, e.view(), &x, first);
            device.gemm(Gemm::add(gradients[1].view_mut(), e.view().transposed(), dense).times(0.5));
            assert!(near(&gradients[0], &gradients[1]));
        }
    }

    #[test]
    #[should_panic(expected = "beyond 3 columns")]
    fn columns_that_are_not_there() {
        SparseRows::new(3).push([(3, 1.0)]);
    }
}
