//! Factors and floors of covariances, with sentences about those that have none.

use kaldi_numerics::eigen::any_sign;
use nalgebra::{Cholesky, DMatrix, Dyn};

use crate::error::{Error, Result};

/// Returns the Cholesky factor. The error says that `what` is not positive definite.
pub(crate) fn cholesky(m: DMatrix<f64>, what: &str) -> Result<Cholesky<f64, Dyn>> {
    Cholesky::new(m).ok_or_else(|| Error::data(format!("the {what} is not positive definite")))
}

/// Floors the eigenvalues of a covariance as [`any_sign::floor_eigenvalues`]. An error if the covariance is not finite.
pub(crate) fn floor_eigenvalues(m: &mut DMatrix<f64>, least: f64, max_condition: f64) -> Result<usize> {
    any_sign::floor_eigenvalues(m, least, max_condition).ok_or_else(|| {
        Error::data("the eigenvalues of a covariance cannot be computed: are there infinite statistics?")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_matrix() {
        let error = cholesky(DMatrix::zeros(2, 2), "sample").unwrap_err().to_string();
        assert!(error.contains("the sample is not positive definite"), "{error}");
        let error = floor_eigenvalues(&mut DMatrix::from_element(2, 2, f64::NAN), 0.1, 1e4).unwrap_err();
        assert!(error.to_string().contains("infinite statistics"), "{error}");
    }
}
