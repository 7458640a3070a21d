//! The R × R algebra of one update of the Fisher estimate.

use nalgebra::{DMatrix, SymmetricEigen};

/// Absolute floor of ρ and d.
pub(super) const EPSILON: f64 = 1e-10;
/// Floor of ρ and d relative to the largest eigenvalue.
const DELTA: f64 = 5e-4;
/// Ratio of largest to smallest eigenvalue of Z from which on orthogonality is checked.
const CONDITION: f64 = 1e6;
const MAX_ITERATIONS: usize = 100_000;

/// What a minibatch X of N rows tells of the estimate, W being its directions, H = X Wᵀ, J = Hᵀ X.
pub(super) struct Observation<'a> {
    pub rows: usize,
    pub dim: usize,
    /// tr(X Xᵀ).
    pub energy: f64,
    /// Hᵀ H, R × R.
    pub l: &'a [f32],
    /// J Jᵀ, R × R.
    pub k: &'a [f32],
}

/// The next estimate: W' = A (J + diag(carry) W), d', ρ'.
pub(super) struct Factors {
    /// R × (R + 1): A, and `carry` as its last column.
    pub combination: Vec<f32>,
    pub d: Vec<f64>,
    pub rho: f64,
    /// e' of the new estimate.
    pub shrinkage: Vec<f64>,
    pub reorthogonalise: bool,
}

/// e_i = 1 / (β / d_i + 1), β = ρ (1 + α) + α/D Σ d: how much of each direction is taken away.
pub(super) fn shrinkage(d: &[f64], rho: f64, alpha: f64, dim: usize) -> Vec<f64> {
    let beta = rho * (1.0 + alpha) + alpha / dim as f64 * d.iter().sum::<f64>();
    d.iter().map(|d| 1.0 / (beta / d + 1.0)).collect()
}

impl Factors {
    /// The estimate after `seen` with weight `eta`; None if `seen` is not finite.
    pub fn new(seen: &Observation<'_>, eta: f64, alpha: f64, d: &[f64], rho: f64) -> Option<Factors> {
        let (rank, dim) = (d.len(), seen.dim as f64);
        let (weight, keep) = (eta / seen.rows as f64, 1.0 - eta);
        // a = e^{-1/2}
        let a: Vec<f64> = shrinkage(d, rho, alpha, seen.dim).iter().map(|e| 1.0 / e.sqrt()).collect();
        let (values, vectors) = eigen(second_moment(seen, weight, keep, &a, d, rho))?;

        let floor = (rho * keep).powi(2);
        let reorthogonalise = values[0] > CONDITION * values[rank - 1] || values.iter().any(|&c| c < floor);
        let root: Vec<f64> = values.iter().map(|c| c.max(floor).sqrt()).collect();

        let trace = weight * seen.energy + keep * (dim * rho + d.iter().sum::<f64>());
        let next_rho = (trace - root.iter().sum::<f64>()) / (dim - rank as f64);
        let least = EPSILON.max(DELTA * root.iter().copied().fold(0.0, f64::max));
        let next_d: Vec<f64> = root.iter().map(|r| (r - next_rho).max(least)).collect();
        let next_rho = next_rho.max(least);

        let next_shrinkage = shrinkage(&next_d, next_rho, alpha, seen.dim);
        let mut combination = Vec::with_capacity(rank * (rank + 1));
        for i in 0..rank {
            let factor = weight * next_shrinkage[i].sqrt() / root[i];
            combination.extend((0..rank).map(|j| (factor * vectors[(j, i)] * a[j]) as f32));
            combination.push((keep / weight * (d[i] + rho)) as f32);
        }
        let finite = next_rho.is_finite() && combination.iter().all(|v| v.is_finite());
        finite.then_some(Factors {
            combination,
            d: next_d,
            rho: next_rho,
            shrinkage: next_shrinkage,
            reorthogonalise,
        })
    }
}

/// Z = Y Yᵀ, Y being the present directions after one power iteration with the new Fisher matrix.
fn second_moment(
    seen: &Observation<'_>,
    weight: f64,
    keep: f64,
    a: &[f64],
    d: &[f64],
    rho: f64,
) -> DMatrix<f64> {
    let rank = d.len();
    let symmetric = |m: &[f32], i: usize, j: usize| 0.5 * (m[i * rank + j] as f64 + m[j * rank + i] as f64);
    DMatrix::from_fn(rank, rank, |i, j| {
        let (gi, gj) = (d[i] + rho, d[j] + rho);
        let mut z = weight * weight * a[i] * symmetric(seen.k, i, j) * a[j];
        z += weight * keep * a[i] * symmetric(seen.l, i, j) * a[j] * (gi + gj);
        if i == j {
            z += keep * keep * gi * gi;
        }
        z
    })
}

/// Eigenvalues by decreasing size, with their vectors as columns.
fn eigen(z: DMatrix<f64>) -> Option<(Vec<f64>, DMatrix<f64>)> {
    if z.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let eigen = SymmetricEigen::try_new(z, f64::EPSILON, MAX_ITERATIONS)?;
    let mut order: Vec<usize> = (0..eigen.eigenvalues.len()).collect();
    order.sort_by(|&i, &j| eigen.eigenvalues[j].abs().total_cmp(&eigen.eigenvalues[i].abs()));
    let values = order.iter().map(|&i| eigen.eigenvalues[i]).collect();
    Some((values, eigen.eigenvectors.select_columns(&order)))
}
