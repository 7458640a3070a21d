//! The maximum of a quadratic function of a matrix (`SolveQuadraticMatrixProblem` of `matrix/sp-matrix.cc`).

use kaldi_numerics::eigen::any_sign::symmetric_eigen;
use kaldi_numerics::inverse_factor::InverseFactor;
use nalgebra::DMatrix;

use crate::products::dot;

/// The largest ratio of eigenvalues of the scaled quadratic term; smaller eigenvalues are raised.
const CONDITION: f64 = 1e4;
/// Least eigenvalue.
const FLOOR: f64 = 1e-40;
/// Least element of the diagonal that rows are scaled by.
const LEAST_DIAGONAL: f64 = f64::MIN_POSITIVE * 1e3;

/// Outcome of a maximization.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Outcome {
    /// The function has grown. Some eigenvalues were raised.
    Improved { growth: f64, floored: usize },
    /// The matrix is unchanged, as the function would have fallen by so much.
    Worse { fall: f64, floored: usize },
    /// The matrix is unchanged, as the quadratic term is 0.
    NoData,
    /// The matrix is unchanged, as the terms are not finite.
    NotFinite,
}

/// Moves M towards the maximum of tr(MᵀCY) − ½ tr(C M R Mᵀ); without `c`, C is the unit matrix.
///
/// R is scaled to a unit diagonal, R' = R / ddᵀ. If no eigenvalue of R' has to be raised, the maximum is M = Y R⁻¹. A bound
/// on the largest eigenvalue and a Cholesky factor tell this without eigenvalues.
pub(super) fn maximize(
    m: &mut DMatrix<f64>,
    y: &DMatrix<f64>,
    r: &DMatrix<f64>,
    c: Option<&DMatrix<f64>>,
) -> Outcome {
    if r.iter().all(|&x| x == 0.0) {
        return Outcome::NoData;
    }
    let dim = r.nrows();
    let scale: Vec<f64> = (0..dim).map(|i| 1.0 / r[(i, i)].max(LEAST_DIAGONAL).sqrt()).collect();
    let scaled = DMatrix::from_fn(dim, dim, |i, j| r[(i, j)] * scale[i] * scale[j]);
    // The gradient Y − M R, and the change of M, both in the scaled space.
    let mut gradient = y.clone();
    gradient.gemm(-1.0, m, r, 1.0);
    gradient.column_iter_mut().zip(&scale).for_each(|(mut column, &scale)| column *= scale);
    let (mut change, floored) = match without_floors(&scaled) {
        Some(factor) => ((&gradient * factor.lower().transpose()) * factor.lower(), 0),
        None => match with_floors(&gradient, &scaled) {
            Some(solution) => solution,
            None => return Outcome::NotFinite,
        },
    };
    let mut slope = gradient;
    match floored {
        0 => slope *= 0.5,
        _ => slope.gemm(-0.5, &change, &scaled, 1.0),
    }
    let growth = match c {
        Some(c) => dot(&(c * &change), &slope),
        None => dot(&change, &slope),
    };
    if growth < 0.0 {
        return Outcome::Worse { fall: -growth, floored };
    }
    if !growth.is_finite() {
        return Outcome::NotFinite;
    }
    change.column_iter_mut().zip(&scale).for_each(|(mut column, &scale)| column *= scale);
    *m += change;
    Outcome::Improved { growth, floored }
}

/// Returns the factor of a matrix if surely no eigenvalue is below the largest / [`CONDITION`].
fn without_floors(scaled: &DMatrix<f64>) -> Option<InverseFactor> {
    let largest_row =
        scaled.column_iter().map(|column| column.iter().map(|x| x.abs()).sum()).fold(0.0, f64::max);
    let bound = scaled.norm().min(largest_row);
    let mut shifted = scaled.clone();
    let dim = scaled.nrows();
    (0..dim).for_each(|i| shifted[(i, i)] -= bound / CONDITION);
    InverseFactor::new(shifted)?;
    InverseFactor::new(scaled.clone())
}

/// Returns the gradient times the inverse of the matrix with raised eigenvalues, and the number of these.
fn with_floors(gradient: &DMatrix<f64>, scaled: &DMatrix<f64>) -> Option<(DMatrix<f64>, usize)> {
    let eigen = symmetric_eigen(scaled)?;
    let floor = (eigen.eigenvalues.max() / CONDITION).max(FLOOR);
    let floored = eigen.eigenvalues.iter().filter(|x| **x < floor).count();
    let mut rotated = gradient * &eigen.eigenvectors;
    let columns = rotated.column_iter_mut().zip(eigen.eigenvalues.iter());
    columns.for_each(|(mut column, value)| column /= value.max(floor));
    Some((rotated * eigen.eigenvectors.transpose(), floored))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objective(m: &DMatrix<f64>, y: &DMatrix<f64>, r: &DMatrix<f64>, c: &DMatrix<f64>) -> f64 {
        (m.transpose() * c * y).trace() - 0.5 * (c * m * r * m.transpose()).trace()
    }

    fn random(rows: usize, cols: usize, seed: u64) -> DMatrix<f64> {
        let mut random = fastrand::Rng::with_seed(seed);
        DMatrix::from_fn(rows, cols, |_, _| random.f64() - 0.5)
    }

    #[test]
    fn the_maximum_is_reached() {
        let l = random(20, 20, 1);
        let mut r = &l * l.transpose() + DMatrix::identity(20, 20) * 0.1;
        r[(3, 3)] += 1e6;
        let (y, l) = (random(4, 20, 2), random(4, 4, 3));
        let c = &l * l.transpose() + DMatrix::identity(4, 4);
        let start = random(4, 20, 4);
        let mut m = start.clone();
        let Outcome::Improved { growth, floored: 0 } = maximize(&mut m, &y, &r, Some(&c)) else {
            panic!("no maximum")
        };
        let expected = &y * r.clone().try_inverse().unwrap();
        assert!((&m - expected).amax() < 1e-9);
        let difference = objective(&m, &y, &r, &c) - objective(&start, &y, &r, &c);
        assert!((growth - difference).abs() < 1e-9 * growth.abs(), "{growth} {difference}");
        // A second time nothing is left to gain.
        let Outcome::Improved { growth, .. } = maximize(&mut m, &y, &r, Some(&c)) else { panic!("worse") };
        assert!(growth.abs() < 1e-9, "{growth}");
    }

    /// With R' = diag(1, …, 1, ε) the last direction counts as if ε were 1e-4 of the rest.
    #[test]
    fn small_eigenvalues_are_raised() {
        let turn = random(3, 3, 5).qr().q();
        let values = DMatrix::from_diagonal(&nalgebra::DVector::from_vec(vec![1.0, 1.0, 1e-9]));
        let r = &turn * values * turn.transpose();
        let d = DMatrix::from_diagonal(&r.diagonal().map(f64::sqrt));
        let inverse = d.clone().try_inverse().unwrap();
        let scaled = &inverse * &r * &inverse;
        let mut eigen = scaled.clone().symmetric_eigen();
        let largest = eigen.eigenvalues.max();
        eigen.eigenvalues.iter_mut().for_each(|x| *x = x.max(largest / 1e4));
        let y = random(2, 3, 6);
        let (mut m, start) = (DMatrix::zeros(2, 3), DMatrix::zeros(2, 3));
        let outcome = maximize(&mut m, &y, &r, None);
        let Outcome::Improved { growth, floored: 1 } = outcome else { panic!("{outcome:?}") };
        let expected = (&y * &inverse) * eigen.recompose().try_inverse().unwrap() * &inverse;
        assert!((&m - &expected).amax() < 1e-9 * expected.amax());
        let unit = DMatrix::identity(2, 2);
        let difference = objective(&m, &y, &r, &unit) - objective(&start, &y, &r, &unit);
        assert!((growth - difference).abs() < 1e-9 * growth, "{growth} {difference}");
    }

    #[test]
    fn terms_that_say_nothing() {
        let (mut m, y) = (random(2, 3, 1), random(2, 3, 2));
        let start = m.clone();
        assert_eq!(maximize(&mut m, &y, &DMatrix::zeros(3, 3), None), Outcome::NoData);
        let nan = DMatrix::from_element(3, 3, f64::NAN);
        assert_eq!(maximize(&mut m, &y, &nan, None), Outcome::NotFinite);
        let negative = -DMatrix::identity(3, 3);
        assert!(!matches!(maximize(&mut m.clone(), &y, &negative, None), Outcome::NoData));
        assert_eq!(m, start);
    }
}
