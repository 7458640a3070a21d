//! Online natural gradient: preconditions rows by an estimate of the inverse Fisher matrix, low rank plus a multiple of
//! the identity (spec components §10; Povey, Zhang and Khudanpur, "Parallel training of DNNs with natural gradient and
//! parameter averaging", 2014).
//!
//! The products with minibatch-sized matrices run on the device; the R × R algebra between them runs on the host in
//! `f64`.

mod eigen;
mod factors;
mod orthogonal;

use crate::component::Context;
use factors::{Factors, Observation};
use nnet3_matrix::{Matrix, Scratch, Transpose::No, Transpose::Yes, View, ViewMut};
use orthogonal::{invert_cholesky, orthonormalise_rows};

/// Updates of the estimate before `update_period` starts to count.
const INITIAL_UPDATES: usize = 10;
/// Largest deviation from orthonormal rows that is left as it is.
const ORTHONORMAL_TOLERANCE: f64 = 1e-3;

/// A preconditioner for rows of one dimension. Its state is never stored; copies take it along.
#[derive(Clone, Debug)]
pub struct NaturalGradient {
    pub rank: usize,
    pub update_period: usize,
    pub num_samples_history: f32,
    /// Overrides `num_samples_history` if > 0.
    pub num_minibatches_history: f32,
    pub alpha: f32,
    frozen: bool,
    calls: usize,
    estimate: Option<Estimate>,
}

/// The Fisher matrix Qᵀ diag(d) Q + ρ I, Q with orthonormal rows.
#[derive(Clone, Debug)]
struct Estimate {
    /// R × D: E^{1/2} Q, with E of [`factors::shrinkage`].
    w: Matrix,
    d: Vec<f64>,
    rho: f64,
}

/// The default of the reference: rank 40, every minibatch.
impl Default for NaturalGradient {
    fn default() -> Self {
        NaturalGradient::with_rank(40, 1)
    }
}

impl NaturalGradient {
    pub fn new(rank: usize, update_period: usize, num_samples_history: f32, alpha: f32) -> NaturalGradient {
        NaturalGradient {
            rank,
            update_period,
            num_samples_history,
            num_minibatches_history: 0.0,
            alpha,
            frozen: false,
            calls: 0,
            estimate: None,
        }
    }

    /// With the default history and alpha.
    pub fn with_rank(rank: usize, update_period: usize) -> NaturalGradient {
        NaturalGradient::new(rank, update_period, 2000.0, 4.0)
    }

    /// What makes these settings unusable, if anything.
    pub fn defect(&self) -> Option<String> {
        let positive =
            |name: &str, ok: bool, value: f64| (!ok).then(|| format!("{name} {value} is out of range"));
        let history = self.num_minibatches_history;
        positive("rank", self.rank > 0, self.rank as f64)
            .or(positive("update-period", self.update_period > 0, self.update_period as f64))
            .or(positive(
                "num-samples-history",
                self.num_samples_history > 0.0 && self.num_samples_history < 1e6,
                self.num_samples_history as f64,
            ))
            .or(positive(
                "num-minibatches-history",
                history == 0.0 || (history > 1.0 && history < 1e6),
                history as f64,
            ))
            .or(positive("alpha", self.alpha >= 0.0, self.alpha as f64))
    }

    /// While frozen the estimate does not change (but for its initialisation).
    pub fn freeze(&mut self, freeze: bool) {
        self.frozen = freeze;
    }

    /// Preconditions the rows of `x` in place and returns the factor that restores their overall 2-norm; the caller
    /// multiplies by it. Rows that are not finite leave the estimate as it is.
    pub fn precondition(&mut self, context: Context<'_>, x: ViewMut<'_>) -> f32 {
        if x.cols() <= 1 || x.rows() == 0 {
            return 1.0;
        }
        let energy = context.backend.dot(x.as_view(), x.as_view());
        let mut estimate = match self.estimate.take() {
            Some(estimate) => estimate.on_device(context),
            None => self.initial_estimate(context, x.as_view(), energy),
        };
        assert_eq!(estimate.w.cols(), x.cols(), "rows of another dimension");

        let projections = estimate.project(context, x.as_view());
        let change =
            self.updating().then(|| self.observe(context, &estimate, x.as_view(), &projections, energy));
        context.backend.gemm(x, -1.0, projections.view(), No, estimate.w.view(), No, 1.0);
        drop(projections);
        if let Some(Some(change)) = change {
            estimate.replace(context, change, false);
        }
        self.estimate = Some(estimate);
        self.calls += 1;
        match energy > 0.0 || energy.is_nan() {
            true => (energy / context.backend.dot(x.as_view(), x.as_view())).sqrt() as f32,
            false => 1.0,
        }
    }

    fn updating(&self) -> bool {
        let late = self.calls.saturating_sub(INITIAL_UPDATES);
        !self.frozen && (late == 0 || late.is_multiple_of(self.update_period))
    }

    /// From a fixed start, one or three updates with the first minibatch.
    fn initial_estimate(&mut self, context: Context<'_>, x: View<'_>, energy: f64) -> Estimate {
        self.rank = self.rank.min(x.cols() - 1);
        let mut estimate = Estimate::start(context, self.rank, x.cols(), self.alpha as f64);
        let updates = if x.rows() <= self.rank { 1 } else { 3 };
        for _ in 0..updates {
            let projections = estimate.project(context, x);
            let change = self.observe(context, &estimate, x, &projections, energy);
            drop(projections);
            if let Some(change) = change {
                // What is checked once has its scratch memory ready for later.
                estimate.replace(context, change, true);
            }
        }
        estimate
    }

    /// How the estimate changes with `x`, whose squared norm is `energy`; `h` = X Wᵀ. None if `x` is not finite.
    fn observe<'w>(
        &self,
        context: Context<'w>,
        estimate: &Estimate,
        x: View<'_>,
        h: &Matrix,
        energy: f64,
    ) -> Option<Change<'w>> {
        let (backend, workspace) = (context.backend, context.workspace);
        let (rows, dim, rank) = (x.rows(), x.cols(), estimate.w.rows());
        let mut j = workspace.take(rank, dim);
        backend.gemm(j.view_mut(), 1.0, h.view(), Yes, x, No, 0.0);

        let mut lk = workspace.take(2 * rank, rank);
        let both = lk.view_mut();
        let (l, k) = (both.row_range(0..rank), both.row_range(rank..2 * rank));
        match rows > dim {
            true => backend.gemm(l, 1.0, estimate.w.view(), No, j.view(), Yes, 0.0),
            false => backend.gemm(l, 1.0, h.view(), Yes, h.view(), No, 0.0),
        }
        backend.gemm(k, 1.0, j.view(), No, j.view(), Yes, 0.0);
        let mut on_host = workspace.floats(2 * rank * rank);
        backend.download_into(lk.view(), &mut on_host);
        let (l, k) = on_host.split_at(rank * rank);

        let observation = Observation { rows, dim, energy, l, k };
        let (eta, alpha) = (self.forgetting(rows), self.alpha as f64);
        let factors = Factors::new(workspace, &observation, eta, alpha, &estimate.d, estimate.rho)?;
        Some(Change { factors, j })
    }

    /// η: the weight of the newest minibatch, of `rows` rows.
    fn forgetting(&self, rows: usize) -> f64 {
        match self.num_minibatches_history > 0.0 {
            true => 1.0 / self.num_minibatches_history as f64,
            false => (1.0 - (-(rows as f64) / self.num_samples_history as f64).exp()).min(0.9),
        }
    }
}

/// A new estimate, before it is multiplied out.
struct Change<'w> {
    factors: Factors<'w>,
    /// R × D: Hᵀ X.
    j: Scratch<'w>,
}

impl Estimate {
    /// d = ρ = ε; row r of Q has equal elements at columns r, r+R, r+2R, …, but for the first, which is a little larger
    /// so that no combination of rows is constant.
    fn start(context: Context<'_>, rank: usize, dim: usize, alpha: f64) -> Estimate {
        let scale = (1.0 / (2.0 + (dim + rank) as f64 * alpha / dim as f64)).sqrt();
        let mut w = vec![0.0; rank * dim];
        for row in 0..rank {
            let others = (dim - row).div_ceil(rank) - 1;
            let size = scale / (1.1f64 * 1.1 + others as f64).sqrt();
            for col in (row..dim).step_by(rank) {
                w[row * dim + col] = (if col == row { 1.1 * size } else { size }) as f32;
            }
        }
        let w = Matrix::from_slice(context.workspace.device(), rank, dim, &w);
        Estimate { w, d: vec![factors::EPSILON; rank], rho: factors::EPSILON }
    }

    fn on_device(mut self, context: Context<'_>) -> Estimate {
        if self.w.device().id() != context.backend.id() {
            self.w = self.w.to_device(context.workspace.device());
        }
        self
    }

    /// X Wᵀ.
    fn project<'w>(&self, context: Context<'w>, x: View<'_>) -> Scratch<'w> {
        let mut h = context.workspace.take(x.rows(), self.w.rows());
        context.backend.gemm(h.view_mut(), 1.0, x, No, self.w.view(), Yes, 0.0);
        h
    }

    /// W = A (J + diag(carry) W), reorthogonalised if need be; `careful`: that is looked at in any case.
    fn replace(&mut self, context: Context<'_>, change: Change<'_>, careful: bool) {
        let (backend, rank) = (context.backend, self.w.rows());
        let Change { factors, mut j } = change;
        let mut a = context.workspace.take(rank, rank + 1);
        backend.upload(a.view_mut(), &factors.combination);
        backend.add_scaled_rows(j.view_mut(), 1.0, a.view().col_range(rank..rank + 1), self.w.view());
        backend.gemm(self.w.view_mut(), 1.0, a.view().col_range(0..rank), No, j.view(), No, 0.0);
        self.d.copy_from_slice(factors.d());
        self.rho = factors.rho;
        if factors.reorthogonalise || careful {
            self.reorthogonalise(context, factors.shrinkage(), j);
        }
    }

    /// Makes the rows of Q = E^{-1/2} W orthonormal again; `spare` is R × D.
    fn reorthogonalise(&mut self, context: Context<'_>, shrinkage: &[f64], mut spare: Scratch<'_>) {
        let (backend, workspace, (rank, dim)) =
            (context.backend, context.workspace, (self.w.rows(), self.w.cols()));
        let mut small = workspace.take(rank, rank);
        let mut small_on_host = workspace.floats(rank * rank);
        let mut products = workspace.doubles(rank * rank);
        let mut root = workspace.doubles(rank);
        let mut rows = workspace.doubles(rank * dim);
        let mut rows_on_host = workspace.floats(rank * dim);

        backend.gemm(small.view_mut(), 1.0, self.w.view(), No, self.w.view(), Yes, 0.0);
        backend.download_into(small.view(), &mut small_on_host);
        root.iter_mut().zip(shrinkage).for_each(|(root, e)| *root = e.sqrt());
        let mut deviation: f64 = 0.0;
        for i in 0..rank {
            for j in 0..rank {
                let product = small_on_host[i.max(j) * rank + i.min(j)] as f64 / (root[i] * root[j]);
                products[i * rank + j] = product;
                // Not `max`, which leaves NaN out.
                let off = (product - if i == j { 1.0 } else { 0.0 }).abs();
                deviation = if off <= deviation { deviation } else { off };
            }
        }
        if deviation <= ORTHONORMAL_TOLERANCE {
            return;
        }
        if invert_cholesky(&mut products, rank) {
            for (k, (correction, inverse)) in small_on_host.iter_mut().zip(&*products).enumerate() {
                *correction = (inverse * root[k / rank] / root[k % rank]) as f32;
            }
            backend.upload(small.view_mut(), &small_on_host);
            backend.copy(spare.view_mut(), self.w.view());
            backend.gemm(self.w.view_mut(), 1.0, small.view(), No, spare.view(), No, 0.0);
        } else {
            backend.download_into(self.w.view(), &mut rows_on_host);
            rows.iter_mut().zip(&*rows_on_host).for_each(|(row, &w)| *row = w as f64);
            orthonormalise_rows(&mut rows, dim, context.random);
            for (k, (w, row)) in rows_on_host.iter_mut().zip(&*rows).enumerate() {
                *w = (row * root[k / dim]) as f32;
            }
            backend.upload(self.w.view_mut(), &rows_on_host);
        }
    }
}

#[cfg(test)]
pub(crate) mod oracle;
#[cfg(test)]
mod tests;
