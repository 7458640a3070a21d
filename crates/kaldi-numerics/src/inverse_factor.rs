//! The inverse of a Cholesky factor, by products of blocks.
//!
//! A = [B Cᵀ; C D] has B with the factor L. With W = L⁻¹ and E = C Wᵀ, the factor of A is [L 0; E F], where F is the
//! factor of D − E Eᵀ. Its inverse is [W 0; −F⁻¹ E W, F⁻¹]. So all but small blocks is matrix products.

use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut};

/// Blocks up to this size are factored element by element.
const SMALL: usize = 12;

/// Blocks up to this size are squared by one product.
const MEDIUM: usize = 48;

/// W = L⁻¹ where A = L Lᵀ: lower triangular.
#[derive(Debug, Clone)]
pub struct InverseFactor(DMatrix<f64>);

impl InverseFactor {
    /// Factors a symmetric matrix, of which only the lower triangle is read. Returns `None` if it is not positive definite.
    pub fn new(mut a: DMatrix<f64>) -> Option<InverseFactor> {
        let n = a.nrows();
        let mut w = DMatrix::zeros(n, n);
        factor(&mut a.view_mut((0, 0), (n, n)), &mut w.view_mut((0, 0), (n, n))).then_some(InverseFactor(w))
    }

    /// Returns W = L⁻¹.
    pub fn lower(&self) -> &DMatrix<f64> {
        &self.0
    }

    /// Returns W, as [`lower`](Self::lower).
    pub fn into_lower(self) -> DMatrix<f64> {
        self.0
    }

    /// Returns A⁻¹ = Wᵀ W.
    pub fn inverse(&self) -> DMatrix<f64> {
        let n = self.0.nrows();
        let mut inverse = DMatrix::zeros(n, n);
        square(&self.0.as_view(), &mut inverse.as_view_mut());
        inverse.fill_upper_triangle_with_lower_triangle();
        inverse
    }

    /// Returns ln |A|.
    pub fn log_determinant(&self) -> f64 {
        -2.0 * self.0.diagonal().iter().map(|x| x.ln()).sum::<f64>()
    }
}

/// Factors the matrix in `a`, which is destroyed, into `w`, which is 0. False if it is not positive definite.
fn factor(a: &mut DMatrixViewMut<'_, f64>, w: &mut DMatrixViewMut<'_, f64>) -> bool {
    let n = a.nrows();
    if n <= SMALL {
        return factor_small(a, w);
    }
    let k = n / 2;
    if !factor(&mut a.view_mut((0, 0), (k, k)), &mut w.view_mut((0, 0), (k, k))) {
        return false;
    }
    let first = w.view((0, 0), (k, k)).into_owned();
    let below = a.view((k, 0), (n - k, k)) * first.transpose();
    let mut rest = a.view_mut((k, k), (n - k, n - k));
    rest.gemm(-1.0, &below, &below.transpose(), 1.0);
    if !factor(&mut rest, &mut w.view_mut((k, k), (n - k, n - k))) {
        return false;
    }
    let last = w.view((k, k), (n - k, n - k)).into_owned();
    w.view_mut((k, 0), (n - k, k)).copy_from(&(last * below * first * -1.0));
    true
}

/// Sets the lower triangle of `out` to that of Wᵀ W. With W = [V 0; X Y] that is Vᵀ V + Xᵀ X, Yᵀ X and Yᵀ Y.
fn square(w: &DMatrixView<'_, f64>, out: &mut DMatrixViewMut<'_, f64>) {
    let n = w.nrows();
    if n <= MEDIUM {
        out.gemm(1.0, &w.transpose(), w, 0.0);
        return;
    }
    let k = n / 2;
    let (below, last) = (w.view((k, 0), (n - k, k)), w.view((k, k), (n - k, n - k)));
    let mut first = out.view_mut((0, 0), (k, k));
    square(&w.view((0, 0), (k, k)), &mut first);
    first.gemm(1.0, &below.transpose(), &below, 1.0);
    out.view_mut((k, 0), (n - k, k)).gemm(1.0, &last.transpose(), &below, 0.0);
    square(&last, &mut out.view_mut((k, k), (n - k, n - k)));
}

fn factor_small(a: &mut DMatrixViewMut<'_, f64>, w: &mut DMatrixViewMut<'_, f64>) -> bool {
    let n = a.nrows();
    for j in 0..n {
        let square = a[(j, j)] - (0..j).map(|k| a[(j, k)].powi(2)).sum::<f64>();
        if square.is_nan() || square <= 0.0 || square.is_infinite() {
            return false;
        }
        let pivot = square.sqrt();
        a[(j, j)] = pivot;
        for i in j + 1..n {
            let sum: f64 = (0..j).map(|k| a[(i, k)] * a[(j, k)]).sum();
            a[(i, j)] = (a[(i, j)] - sum) / pivot;
        }
    }
    for j in 0..n {
        w[(j, j)] = 1.0 / a[(j, j)];
        for i in j + 1..n {
            let sum: f64 = (j..i).map(|k| a[(i, k)] * w[(k, j)]).sum();
            w[(i, j)] = -sum / a[(i, i)];
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_and_determinants() {
        let mut random = fastrand::Rng::with_seed(3);
        for n in [1, 2, 12, 13, 30, 57, 100] {
            let l = DMatrix::from_fn(n, n, |_, _| random.f64() - 0.5);
            let a = &l * l.transpose() + DMatrix::identity(n, n) * 0.1;
            let factor = InverseFactor::new(a.clone()).unwrap();
            assert!((factor.inverse() * &a - DMatrix::identity(n, n)).amax() < 1e-10, "{n}");
            let eigenvalues = a.clone().symmetric_eigenvalues();
            let expected: f64 = eigenvalues.iter().map(|x| x.ln()).sum();
            assert!((factor.log_determinant() - expected).abs() < 1e-9, "{n}");
            assert!((0..n).all(|i| (i + 1..n).all(|j| factor.0[(i, j)] == 0.0)));
            let less = &a - DMatrix::identity(n, n) * (eigenvalues.min() * 1.01);
            assert!(InverseFactor::new(less).is_none(), "{n}");
            let mut wrong = a;
            wrong[(n - 1, 0)] = f64::NAN;
            assert!(InverseFactor::new(wrong).is_none());
        }
    }
}
