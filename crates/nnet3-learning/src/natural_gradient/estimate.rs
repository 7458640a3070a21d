//! The estimate of the Fisher matrix, and the operations that change it.

use super::factors::{self, Factors};
use super::remote::Remote;
use super::{ALIGNED, Piece, blocks_of, size};
use kaldi_numerics::orthonormal::{invert_cholesky, orthonormalise_rows};
use nnet3_base::error::Result;
use nnet3_base::random::Random;
use nnet3_base::snapshot::{Keeper, wrong};
use nnet3_component::Context;
use nnet3_matrix::{Accumulator, Gemm, Matrix, Scratch, View, ViewMut};

/// Largest accepted deviation from orthonormal rows.
const ORTHONORMAL_TOLERANCE: f64 = 1e-3;

/// The Fisher matrix Qᵀ diag(d) Q + ρ I, Q with orthonormal rows.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    /// R × at least D; see [`Estimate::w`].
    pub wide: Matrix,
    pub dim: usize,
    pub d: Vec<f64>,
    pub rho: f64,
    /// Takes the place of `d` and `rho` on a device that updates estimates itself.
    pub remote: Option<Remote>,
    /// R × R: W Wᵀ, if it has been needed since W changed. The matrix is the workspace's.
    pub products: Option<Matrix>,
}

/// A new estimate, before it is multiplied out.
pub(super) struct Change<'w> {
    pub factors: Factors<'w>,
    /// R × at least D: Hᵀ X.
    pub wide_j: Scratch<'w>,
}

impl Estimate {
    /// d = ρ = ε; Row r of Q has equal elements at columns r, r+R, r+2R, …. The first one is a little larger, so that
    /// no combination of rows is constant.
    pub fn start(context: Context<'_>, rank: usize, dim: usize, alpha: f64) -> Estimate {
        let scale = (1.0 / (2.0 + (dim + rank) as f64 * alpha / dim as f64)).sqrt();
        let width = dim.next_multiple_of(ALIGNED);
        let mut w = vec![0.0; rank * width];
        for row in 0..rank {
            let others = (dim - row).div_ceil(rank) - 1;
            let size = scale / (1.1f64 * 1.1 + others as f64).sqrt();
            for col in (row..dim).step_by(rank) {
                w[row * width + col] = (if col == row { 1.1 * size } else { size }) as f32;
            }
        }
        let wide = Matrix::from_slice(context.workspace.device(), rank, width, &w);
        Estimate {
            wide,
            dim,
            d: vec![factors::EPSILON; rank],
            rho: factors::EPSILON,
            remote: None,
            products: None,
        }
    }

    /// A placeholder; the caller puts an estimate back in its place.
    pub fn nothing() -> Estimate {
        Estimate { wide: Matrix::empty(), dim: 0, d: Vec::new(), rho: 0.0, remote: None, products: None }
    }

    /// Takes or puts back an estimate for rows of one of these dimensions, of at most this rank.
    pub fn keep(&mut self, keeper: &mut Keeper<'_>, dims: &[usize], most: usize) -> Result<()> {
        keeper.count(&mut self.dim)?;
        keeper.any_matrix(&mut self.wide)?;
        keeper.numbers(&mut self.d)?;
        keeper.number(&mut self.rho)?;
        let mut is_remote = self.remote.is_some();
        keeper.flag(&mut is_remote)?;
        if is_remote {
            let rank = self.d.len();
            self.remote.get_or_insert_with(|| Remote::nothing(rank)).keep(keeper, rank)?;
        }
        let Some(device) = keeper.device() else { return Ok(()) };
        self.products = None;
        let fits = dims.contains(&self.dim)
            && self.rank() == most.min(self.dim.saturating_sub(1))
            && self.d.len() == self.rank()
            && self.wide.cols() == self.dim.next_multiple_of(ALIGNED);
        if !fits {
            let (rank, dim) = (self.rank(), self.dim);
            let message = format!(
                "expected an estimate of rank {most} for {dims:?} dimensions, found {rank} for {dim}"
            );
            return Err(wrong(message));
        }
        if device.low_rank().is_none()
            && let Some(remote) = self.remote.take()
        {
            (self.d, self.rho) = remote.d_and_rho();
        }
        Ok(())
    }

    pub fn rank(&self) -> usize {
        self.wide.rows()
    }

    /// R × D: E^{1/2} Q, with E of [`factors::shrinkage`].
    pub fn w(&self) -> View<'_> {
        self.wide.view().col_range(0..self.dim)
    }

    pub(crate) fn w_mut(&mut self) -> ViewMut<'_> {
        let dim = self.dim;
        self.wide.view_mut().col_range(0..dim)
    }

    pub fn on_device(mut self, context: Context<'_>) -> Estimate {
        if self.wide.device().id() != context.backend.id() {
            self.wide = self.wide.to_device(context.workspace.device());
            self.products = None;
            if let Some(remote) = self.remote.take() {
                (self.d, self.rho) = remote.d_and_rho();
            }
        }
        self
    }

    /// Computes W Wᵀ, if it is not known.
    pub fn know_products(&mut self, context: Context<'_>) {
        if self.products.is_none() {
            let mut products = context.workspace.hand_out(self.rank(), self.rank());
            context.backend.gemm(Gemm::set(products.view_mut(), self.w(), self.w().transposed()));
            self.products = Some(products);
        }
    }

    /// ‖X - H W‖², from X - H W itself.
    pub(crate) fn energy_left<'a>(
        &self,
        context: Context<'_>,
        x: impl Iterator<Item = Piece<'a>> + Clone,
    ) -> f64 {
        let (backend, workspace, (_, cols)) = (context.backend, context.workspace, size(x.clone()));
        let mut energy = Accumulator::zeros(1);
        for rows in blocks_of(context, x.clone()) {
            let mut h = workspace.zeros(rows.len(), self.rank());
            let mut left = workspace.take(rows.len(), cols);
            let (h, left) = (h.view_mut(), left.view_mut());
            for Piece { x, columns } in x.clone().map(|piece| piece.row_range(rows.clone())) {
                x.product(context, h, self.w().col_range(columns.clone()), 1.0);
                x.copy_to(context, left.col_range(columns));
            }
            backend.gemm(Gemm::add(left, h, self.w()).times(-1.0));
            backend.accumulate_dot(&mut energy, 0, 1.0, left.as_view(), left.as_view());
        }
        energy.values()[0]
    }

    /// Hᵀ H above J Jᵀ.
    pub fn moments<'w>(&self, context: Context<'w>, h: Option<View<'_>>, j: View<'_>) -> Scratch<'w> {
        let mut lk = context.workspace.take(2 * self.rank(), self.rank());
        let (backend, l) = (context.backend, lk.view_mut().row_range(0..self.rank()));
        match h.filter(|h| h.rows() <= self.dim) {
            Some(h) => backend.gemm(Gemm::set(l, h.transposed(), h)),
            None => backend.gemm(Gemm::set(l, self.w(), j.transposed())),
        }
        self.second_moments(context, lk, j)
    }

    /// Completes Hᵀ H by J Jᵀ below.
    pub fn second_moments<'w>(&self, context: Context<'_>, mut lk: Scratch<'w>, j: View<'_>) -> Scratch<'w> {
        let k = lk.view_mut().row_range(self.rank()..2 * self.rank());
        context.backend.gemm(Gemm::set(k, j, j.transposed()));
        lk
    }

    /// W = A (J + diag(carry) W), reorthogonalised if necessary. If `careful`, always checks for that.
    pub fn replace(&mut self, context: Context<'_>, change: Change<'_>, careful: bool) {
        let (backend, rank) = (context.backend, self.rank());
        let Change { factors, mut wide_j } = change;
        let j = wide_j.view_mut().col_range(0..self.dim);
        let mut a = context.workspace.take(rank, rank + 1);
        backend.upload(a.view_mut(), &factors.combination);
        backend.add_scaled_rows(j, 1.0, a.view().col_range(rank..rank + 1), self.w());
        backend.gemm(Gemm::set(self.w_mut(), a.view().col_range(0..rank), j));
        self.d.copy_from_slice(factors.d());
        self.rho = factors.rho;
        if factors.reorthogonalise || careful {
            self.reorthogonalise(context, factors.shrinkage(), j);
        }
    }

    /// Makes the rows of Q = E^{-1/2} W orthonormal again; `spare` is R × D. Takes none of the run's random numbers, so that
    /// it makes no difference when and in which thread it is done.
    fn reorthogonalise(&mut self, context: Context<'_>, shrinkage: &[f64], spare: ViewMut<'_>) {
        let (backend, workspace, (rank, dim)) = (context.backend, context.workspace, (self.rank(), self.dim));
        let mut small = workspace.take(rank, rank);
        let mut small_on_host = workspace.floats(rank * rank);
        let mut products = workspace.doubles(rank * rank);
        let mut root = workspace.doubles(rank);
        let mut rows = workspace.doubles(rank * dim);
        let mut rows_on_host = workspace.floats(rank * dim);

        backend.gemm(Gemm::set(small.view_mut(), self.w(), self.w().transposed()));
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
            backend.copy(spare, self.w());
            backend.gemm(Gemm::set(self.w_mut(), small.view(), spare));
        } else {
            backend.download_into(self.w(), &mut rows_on_host);
            rows.iter_mut().zip(&*rows_on_host).for_each(|(row, &w)| *row = w as f64);
            let random = Random::new(0);
            orthonormalise_rows(&mut rows, dim, || random.normal() as f64);
            for (k, (w, row)) in rows_on_host.iter_mut().zip(&*rows).enumerate() {
                *w = (row * root[k / dim]) as f32;
            }
            backend.upload(self.w_mut(), &rows_on_host);
        }
    }
}
