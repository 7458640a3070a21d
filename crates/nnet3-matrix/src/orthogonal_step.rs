//! A step of a matrix towards rows that are orthogonal and of equal length: what [`crate::backend::Scalars::orthogonal_step`] computes
//! on any device, and what a log says about it.

/// M becomes `keep` · M + `take` · P M, P = M Mᵀ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrthogonalStep {
    pub keep: f64,
    pub take: f64,
    /// 1 if all eigenvalues of P are equal, else above it, but for rounding: the mean of their squares by the square of their
    /// mean. 1 as well if M is zero.
    pub ratio: f64,
}

/// Squared norms below this are of a matrix that is not used.
const UNUSED: f64 = 1e-15;
/// Where rounding would leave no ratio so small, something is wrong with the matrix.
const IMPOSSIBLE: f64 = 0.9;

/// The step for a matrix with this squared norm, P being `dim` × `dim` with this squared norm. The length of the rows floats: it is
/// the one that makes the change orthogonal to the matrix. No step where the numbers are impossible.
pub fn orthogonal_step(square: f64, products_square: f64, dim: usize) -> OrthogonalStep {
    if square < UNUSED {
        return OrthogonalStep { keep: 1.0, take: 0.0, ratio: 1.0 };
    }
    let ratio = products_square * dim as f64 / (square * square);
    if ratio.is_nan() || ratio <= IMPOSSIBLE {
        return OrthogonalStep { keep: 1.0, take: 0.0, ratio };
    }
    // M -= c (P - s² I) M
    let length = products_square / square;
    let coefficient = 4.0 * (0.125 * speed(ratio)) / length;
    OrthogonalStep { keep: 1.0 + coefficient * length, take: -coefficient, ratio }
}

/// Matrices far from the goal take smaller steps.
pub fn speed(ratio: f64) -> f64 {
    match ratio {
        _ if ratio > 1.1 => 0.25,
        _ if ratio > 1.02 => 0.5,
        _ => 1.0,
    }
}
