//! The R × R algebra of one update of the Fisher estimate.

use kaldi_numerics::eigen::in_place;
use nnet3_matrix::cpu::run_plain;
use nnet3_matrix::{HostScratch, Workspace};

/// Absolute floor of ρ and d.
pub(super) const EPSILON: f64 = 1e-10;
/// Floor of ρ and d relative to the largest eigenvalue.
const DELTA: f64 = 5e-4;
/// Orthogonality is checked if the largest eigenvalue of Z is more than this times the smallest.
const CONDITION: f64 = 1e6;

/// The observation of a minibatch X of N rows, with directions W: H = X Wᵀ, J = Hᵀ X.
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
pub(super) struct Factors<'w> {
    rank: usize,
    /// d', then e'.
    vectors: HostScratch<'w, f64>,
    /// R × (R + 1): A, and `carry` as its last column.
    pub combination: HostScratch<'w, f32>,
    pub rho: f64,
    pub reorthogonalise: bool,
}

/// e_i = 1 / (β / d_i + 1), β = ρ (1 + α) + α/D Σ d: how much of each direction is taken away.
pub(super) fn shrinkage(d: &[f64], rho: f64, alpha: f64, dim: usize, e: &mut [f64]) {
    let beta = rho * (1.0 + alpha) + alpha / dim as f64 * d.iter().sum::<f64>();
    e.iter_mut().zip(d).for_each(|(e, d)| *e = 1.0 / (beta / d + 1.0));
}

impl<'w> Factors<'w> {
    /// The estimate after `seen` with weight `eta`; None if `seen` is not finite.
    pub fn new(
        workspace: &'w Workspace,
        seen: &Observation<'_>,
        eta: f64,
        alpha: f64,
        d: &[f64],
        rho: f64,
    ) -> Option<Factors<'w>> {
        let (rank, dim) = (d.len(), seen.dim as f64);
        let (weight, keep) = (eta / seen.rows as f64, 1.0 - eta);
        let mut small = workspace.doubles(3 * rank);
        let (a, rest) = small.split_at_mut(rank);
        let (root, spare) = rest.split_at_mut(rank);
        // a = e^{-1/2}
        shrinkage(d, rho, alpha, seen.dim, a);
        a.iter_mut().for_each(|a| *a = 1.0 / a.sqrt());
        let mut large = workspace.doubles(2 * rank * rank);
        let (z, directions) = large.split_at_mut(rank * rank);
        second_moment(seen, weight, keep, a, d, rho, z);
        // `root` holds eigenvalues at first.
        let found = run_plain(
            (z, &mut *root, &mut *directions, spare),
            #[inline(always)]
            |(z, root, directions, spare)| in_place::symmetric_eigen(z, root, directions, spare),
        );
        if !found {
            return None;
        }
        let floor = (rho * keep).powi(2);
        let reorthogonalise = root[0] > CONDITION * root[rank - 1] || root.iter().any(|&c| c < floor);
        root.iter_mut().for_each(|c| *c = c.max(floor).sqrt());

        let trace = weight * seen.energy + keep * (dim * rho + d.iter().sum::<f64>());
        let next_rho = (trace - root.iter().sum::<f64>()) / (dim - rank as f64);
        let least = EPSILON.max(DELTA * root.iter().copied().fold(0.0, f64::max));
        let mut vectors = workspace.doubles(2 * rank);
        let (next_d, next_shrinkage) = vectors.split_at_mut(rank);
        next_d.iter_mut().zip(&*root).for_each(|(d, r)| *d = (r - next_rho).max(least));
        let next_rho = next_rho.max(least);
        shrinkage(next_d, next_rho, alpha, seen.dim, next_shrinkage);

        let mut combination = workspace.floats(rank * (rank + 1));
        for (i, row) in combination.chunks_exact_mut(rank + 1).enumerate() {
            let factor = weight * next_shrinkage[i].sqrt() / root[i];
            let direction = &directions[i * rank..];
            for j in 0..rank {
                row[j] = (factor * direction[j] * a[j]) as f32;
            }
            row[rank] = (keep / weight * (d[i] + rho)) as f32;
        }
        let finite = next_rho.is_finite() && combination.iter().all(|v| v.is_finite());
        finite.then_some(Factors { rank, vectors, combination, rho: next_rho, reorthogonalise })
    }

    /// d'.
    pub fn d(&self) -> &[f64] {
        &self.vectors[..self.rank]
    }

    /// e' of the new estimate.
    pub fn shrinkage(&self) -> &[f64] {
        &self.vectors[self.rank..]
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
    z: &mut [f64],
) {
    let rank = d.len();
    let symmetric = |m: &[f32], i: usize, j: usize| 0.5 * (m[i * rank + j] as f64 + m[j * rank + i] as f64);
    for (i, row) in z.chunks_exact_mut(rank).enumerate() {
        let gi = d[i] + rho;
        for (j, z) in row.iter_mut().enumerate() {
            let gj = d[j] + rho;
            *z = weight * weight * a[i] * symmetric(seen.k, i, j) * a[j];
            *z += weight * keep * a[i] * symmetric(seen.l, i, j) * a[j] * (gi + gj);
            if i == j {
                *z += keep * keep * gi * gi;
            }
        }
    }
}
