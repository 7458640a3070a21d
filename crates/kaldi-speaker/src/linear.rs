//! Matrices of vectors and their covariances, and sentences about covariances that have no factors.

use kaldi_numerics::eigen::any_sign;
use kaldi_numerics::inverse_factor::InverseFactor;
use kaldi_numerics::symmetric::symmetric_part;
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use crate::error::{Error, Result};

pub(crate) fn column(values: &[f32]) -> DVector<f64> {
    DVector::from_iterator(values.len(), values.iter().map(|&x| x.into()))
}

/// Returns eigenvalues in decreasing order, and the eigenvectors as rows in the same order. Errors call the matrix
/// `what`.
pub(crate) fn eigen(m: &DMatrix<f64>, what: &str) -> Result<(DVector<f64>, DMatrix<f64>)> {
    if !m.iter().all(|x| x.is_finite()) {
        return Err(Error::data(format!("the {what} has elements that are not finite")));
    }
    any_sign::descending(m)
        .ok_or_else(|| Error::data(format!("the eigenvalues of the {what} cannot be computed")))
}

fn singular(what: &str) -> Error {
    Error::data(format!(
        "the {what} is singular or not positive definite: more or more varied vectors are needed"
    ))
}

/// Returns the Cholesky factor. If the matrix is singular, the error calls it `what`.
pub(crate) fn cholesky(m: &DMatrix<f64>, what: &str) -> Result<Cholesky<f64, Dyn>> {
    if !m.iter().all(|x| x.is_finite()) {
        return Err(singular(what));
    }
    Cholesky::new(symmetric_part(m)).ok_or_else(|| singular(what))
}

/// Returns the inverse of a symmetric matrix, of which only the lower triangle is read. If it is singular, the error calls it `what`.
pub(crate) fn inverse(m: DMatrix<f64>, what: &str) -> Result<DMatrix<f64>> {
    InverseFactor::new(m).map(|factor| factor.inverse()).ok_or_else(|| singular(what))
}

/// Returns the mean of vectors of the same dimension and their covariance (divided by their number).
pub(crate) fn mean_and_covariance(vectors: &DMatrix<f64>) -> (DVector<f64>, DMatrix<f64>) {
    let mean = vectors.column_mean();
    let mut centred = vectors.clone();
    centred.column_iter_mut().for_each(|mut x| x -= &mean);
    let covariance = &centred * centred.transpose() / vectors.ncols() as f64;
    (mean, covariance)
}

/// Returns a matrix with the vectors as columns. The error names the first one with another dimension than the first.
pub(crate) fn columns<V: AsRef<[f32]>>(vectors: &[V]) -> Result<DMatrix<f64>> {
    let dim = vectors.first().map_or(0, |x| x.as_ref().len());
    if let Some((i, x)) = vectors.iter().enumerate().find(|(_, x)| x.as_ref().len() != dim) {
        let found = x.as_ref().len();
        return Err(Error::data(format!("vector {i} has dimension {found}, those before it {dim}")));
    }
    Ok(DMatrix::from_iterator(
        dim,
        vectors.len(),
        vectors.iter().flat_map(|x| x.as_ref()).map(|&x| f64::from(x)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_matrix() {
        let nan = DMatrix::from_element(2, 2, f64::NAN);
        assert!(eigen(&nan, "sample").unwrap_err().to_string().contains("not finite"));
        assert!(cholesky(&DMatrix::zeros(2, 2), "sample").unwrap_err().to_string().contains("singular"));
    }

    #[test]
    fn mean_and_covariance_of_two_points() {
        let (mean, covariance) = mean_and_covariance(&columns(&[[1f32, 0.0], [3.0, 4.0]]).unwrap());
        assert_eq!(mean.as_slice(), [2.0, 2.0]);
        assert_eq!(covariance.as_slice(), [1.0, 2.0, 2.0, 4.0]);
        assert!(columns(&[vec![1f32], vec![]]).unwrap_err().to_string().contains("vector 1 has dimension 0"));
    }
}
