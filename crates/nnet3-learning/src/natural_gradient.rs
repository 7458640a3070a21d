//! Online natural gradient: preconditions rows by an estimate of the inverse Fisher matrix. The estimate is of low
//! rank, plus a multiple of the identity (Povey, Zhang and Khudanpur, "Parallel training of DNNs with natural gradient
//! and parameter averaging", 2014).
//!
//! Matrices as large as a minibatch, and their norms, stay on the device. The R × R algebra of an update of the
//! estimate is in `f64`. This file does it on the host; `remote` does it on the device.

mod estimate;
mod factors;
mod on_device;
mod remote;

use estimate::{Change, Estimate};
use factors::{Factors, Observation};
use nnet3_base::error::Result;
use nnet3_base::snapshot::Keeper;
use nnet3_component::Context;
use nnet3_component::gradient::{Piece, PieceRows};
use nnet3_component::preconditioners::NaturalGradientSettings;
use nnet3_matrix::low_rank::LowRankUpdate;
use nnet3_matrix::{Accumulator, Factor, Gemm, Scratch, View, ViewMut};
pub(crate) use on_device::{correction_moves_less, restore_norms};
use remote::Postponed;
pub(crate) use remote::update_together;
use std::ops::Range;

/// Updates of the estimate before `update_period` starts to count.
const INITIAL_UPDATES: usize = 10;
/// Elements between rows of large matrices are a multiple of this, so that rows begin with a cache line.
pub(crate) const ALIGNED: usize = 16;
/// The rest of the work for an element (copying it and adding to both norms) takes as long as this many
/// multiplications of a product.
const WORK_OF_A_COPY: usize = 16;
/// Smallest share of ‖X‖² in ‖X - H W‖² that is still above the rounding errors of its parts.
const LEAST_SHARE: f64 = 1e-3;

/// A preconditioner for rows of one dimension. Its state is never stored; copies take it along.
#[derive(Clone, Debug)]
pub struct NaturalGradient {
    settings: NaturalGradientSettings,
    frozen: bool,
    calls: usize,
    estimate: Option<Estimate>,
    /// ‖X‖² before and after: on the device.
    energies: Accumulator,
    /// An update of the estimate that is still to be made: on a device that makes many side by side.
    postponed: Option<Postponed>,
}

/// Places in the energies of a pass.
const BEFORE: usize = 0;
const AFTER: usize = 1;

/// Method for products of preconditioned rows with other rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preconditioning {
    /// Products use a preconditioned copy: [`NaturalGradient::fill_and_precondition`].
    Rows,
    /// Products use the unchanged rows, and the gradient is corrected afterwards: [`NaturalGradient::observe`].
    Gradient,
    /// The same, observing only Xᵀ X: [`NaturalGradient::observe_products`].
    Products,
}

/// The observation of a minibatch X, which is not changed: with X̂ its preconditioned rows, X - X̂ = H W.
pub struct Seen<'w> {
    estimate: Estimate,
    pass: Pass<'w>,
    /// Gives X̂ the overall 2-norm of X.
    pub factor: f32,
}

impl Seen<'_> {
    /// N × (R + 1): H, and 1 in the last column. Panics after [`NaturalGradient::observe_products`], which does without.
    pub(crate) fn h_and_one(&self) -> View<'_> {
        self.pass.wide_h.as_ref().expect("H of a minibatch that was seen row by row").view()
    }

    /// R × D.
    pub fn w(&self) -> View<'_> {
        self.estimate.w()
    }
}

impl NaturalGradient {
    pub fn new(settings: NaturalGradientSettings) -> NaturalGradient {
        NaturalGradient {
            settings,
            frozen: false,
            calls: 0,
            estimate: None,
            energies: Accumulator::zeros(2),
            postponed: None,
        }
    }

    /// Takes or puts back the estimate, for rows of one of these dimensions.
    pub(crate) fn keep(&mut self, keeper: &mut Keeper<'_>, dims: &[usize]) -> Result<()> {
        assert!(self.postponed.is_none(), "an executor makes all updates before it ends");
        keeper.count(&mut self.calls)?;
        let mut is_there = self.estimate.is_some();
        keeper.flag(&mut is_there)?;
        if !is_there {
            self.estimate = None;
            return Ok(());
        }
        let estimate = self.estimate.get_or_insert_with(Estimate::nothing);
        estimate.keep(keeper, dims, self.settings.rank)?;
        self.settings.rank = estimate.rank();
        Ok(())
    }

    /// Freezes the estimate: it does not change, except for its initialisation.
    pub fn freeze(&mut self, freeze: bool) {
        self.frozen = freeze;
    }

    /// Preconditions the rows of `x` in place and returns the factor that restores their overall 2-norm; the caller
    /// multiplies by it. A device for which the host would have to wait multiplies itself: then the factor is 1. Rows
    /// that are not finite do not change the estimate.
    pub fn precondition(&mut self, context: Context<'_>, x: ViewMut<'_>) -> f32 {
        self.fill_and_precondition(context, x, |_, _| {})
    }

    /// [`NaturalGradient::precondition`] of rows that `fill` writes first: it gets some rows of `x`, and their numbers.
    /// So a copy that is to be preconditioned passes through a cache once.
    pub(crate) fn fill_and_precondition(
        &mut self,
        context: Context<'_>,
        x: ViewMut<'_>,
        fill: impl Fn(ViewMut<'_>, Range<usize>),
    ) -> f32 {
        let context = context.in_floats();
        if x.cols() <= 1 || x.rows() == 0 {
            fill(x, 0..x.rows());
            return 1.0;
        }
        self.catch_up(context);
        let Some(estimate) = self.estimate.take() else {
            fill(x, 0..x.rows());
            let whole = Piece { x: PieceRows::Dense(x.as_view()), columns: 0..x.cols() };
            self.estimate = Some(self.initial_estimate_of(context, std::iter::once(whole)));
            return self.precondition(context, x);
        };
        let estimate = estimate.on_device(context);
        assert_eq!(estimate.dim, x.cols(), "rows of another dimension");

        let mut factor = context.workspace.take(1, 1);
        let mut pass = Pass::new(context, &estimate, (x.rows(), 0), self.updating());
        self.energies.scale(0.0);
        for rows in row_blocks(context, x.rows(), x.cols()) {
            let block = x.row_range(rows.clone());
            fill(block, rows.clone());
            let whole = Piece { x: PieceRows::Dense(block.as_view()), columns: 0..x.cols() };
            let h = pass.observe(context, &estimate, std::iter::once(whole), rows, &mut self.energies);
            context.backend.gemm(Gemm::add(block, h, estimate.w()).times(-1.0));
            context.backend.accumulate_dot(&mut self.energies, AFTER, 1.0, block.as_view(), block.as_view());
        }
        self.update_later(context, estimate, pass);
        self.calls += 1;
        context.backend.root_of_ratio(factor.view_mut(), &mut self.energies, BEFORE);
        let factor = Factor { times: 1.0, element: factor.view() };
        context.backend.value_at_once(factor).unwrap_or_else(|| {
            context.backend.scale_by(x, factor);
            1.0
        })
    }

    /// Observes X, some rows of at least two columns, without changing it: any linear function of X can be
    /// preconditioned as well. The caller calls [`NaturalGradient::learn`] afterwards. This waits for a device that is
    /// not the host.
    pub fn observe<'a, 'w>(
        &mut self,
        context: Context<'w>,
        x: impl Iterator<Item = Piece<'a>> + Clone,
    ) -> Seen<'w> {
        let context = context.in_floats();
        self.catch_up(context);
        let estimate = match self.estimate.take() {
            Some(estimate) => estimate.on_device(context),
            None => self.initial_estimate_of(context, x.clone()),
        };
        let (backend, workspace, (rows, cols)) = (context.backend, context.workspace, size(x.clone()));
        assert_eq!(estimate.dim, cols, "rows of another dimension");
        let rank = estimate.rank();
        let mut ww = workspace.take(rank, rank);
        backend.gemm(Gemm::set(ww.view_mut(), estimate.w(), estimate.w().transposed()));

        let mut pass = Pass::new(context, &estimate, (rows, 1), self.updating());
        if let Some(wide_h) = &mut pass.wide_h {
            backend.set(wide_h.view_mut().col_range(rank..rank + 1), 1.0);
        }
        let energies = &mut self.energies;
        energies.scale(0.0);
        for rows in blocks_of(context, x.clone()) {
            let block = x.clone().map(|piece| piece.row_range(rows.clone()));
            let h = pass.observe(context, &estimate, block, rows.clone(), energies).as_view();
            let mut hww = workspace.take(h.rows(), rank);
            backend.gemm(Gemm::set(hww.view_mut(), h, ww.view()));
            backend.accumulate_dot(energies, AFTER, -2.0, h, h);
            backend.accumulate_dot(energies, AFTER, 1.0, hww.view(), h);
        }
        // ‖X - H W‖² = ‖X‖² - 2 ‖H‖² + (H W Wᵀ) · H
        let factor = self.factor(context, &estimate, x);
        Seen { estimate, pass, factor }
    }

    /// Updates the estimate with the observation.
    pub(crate) fn learn(&mut self, context: Context<'_>, seen: Seen<'_>) {
        let context = context.in_floats();
        self.update_later(context, seen.estimate, seen.pass);
        self.calls += 1;
    }

    fn updating(&self) -> bool {
        let late = self.calls.saturating_sub(INITIAL_UPDATES);
        !self.frozen && (late == 0 || late.is_multiple_of(self.settings.update_period))
    }

    /// Chooses the variant with the least work, for rows to be multiplied with `others` columns.
    pub(crate) fn preconditioning(
        &self,
        context: Context<'_>,
        rows: usize,
        dim: usize,
        others: usize,
    ) -> Preconditioning {
        let rank = self.settings.rank.min(dim.saturating_sub(1));
        if !context.backend.is_host() || rank == 0 {
            return Preconditioning::Rows;
        }
        // H; J with all of the first minibatches, and some of the later ones.
        let seen = rows * dim * 3 * rank / 2;
        let corrected = 2 * rank * dim * others;
        let by_rows = seen + rows * dim * (rank + WORK_OF_A_COPY);
        let by_gradient = seen + rows * rank * rank + corrected;
        let by_products = rows * dim * dim / 2 + rank * dim * (dim + 2 * rank) + corrected;
        match rows > dim && by_products < by_rows.min(by_gradient) {
            true => Preconditioning::Products,
            false if by_gradient < by_rows => Preconditioning::Gradient,
            false => Preconditioning::Rows,
        }
    }

    /// As [`NaturalGradient::observe`], for all columns together and for more rows than columns, on the host. It reads
    /// only Xᵀ X: all needed quantities are small products.
    pub(crate) fn observe_products<'w>(&mut self, context: Context<'w>, x: View<'_>) -> Seen<'w> {
        let context = context.in_floats();
        let (backend, workspace, (rows, dim)) = (context.backend, context.workspace, (x.rows(), x.cols()));
        let mut products = workspace.take(dim, dim.next_multiple_of(ALIGNED));
        let products = products.view_mut().col_range(0..dim);
        backend.gram(products, x);
        self.energies.scale(0.0);
        backend.accumulate_dot(&mut self.energies, BEFORE, 1.0, x, x);
        let j_of = |estimate: &Estimate| {
            let mut j = workspace.take(estimate.rank(), dim.next_multiple_of(ALIGNED));
            backend.gemm(Gemm::set(j.view_mut().col_range(0..dim), estimate.w(), products));
            j
        };
        let estimate = match self.estimate.take() {
            Some(estimate) => estimate.on_device(context),
            None => self.initial_estimate(context, (rows, dim), |_, estimate| Pass {
                rows,
                wide_h: None,
                j: Some(j_of(estimate)),
                moments: None,
            }),
        };
        assert_eq!(estimate.dim, dim, "rows of another dimension");
        let wide_j = j_of(&estimate);
        let j = wide_j.view().col_range(0..dim);
        let rank = estimate.rank();
        let mut small = workspace.take(2 * rank, rank);
        let small = small.view_mut();
        let (ww, l) = (small.row_range(0..rank), small.row_range(rank..2 * rank));
        backend.gemm(Gemm::set(ww, estimate.w(), estimate.w().transposed()));
        backend.gemm(Gemm::set(l, estimate.w(), j.transposed()));
        backend.accumulate_dot(&mut self.energies, AFTER, -2.0, estimate.w(), j);
        backend.accumulate_dot(&mut self.energies, AFTER, 1.0, ww.as_view(), l.as_view());
        let pass = Pass { rows, wide_h: None, j: self.updating().then_some(wide_j), moments: None };
        let factor = self.factor(
            context,
            &estimate,
            std::iter::once(Piece { x: PieceRows::Dense(x), columns: 0..dim }),
        );
        Seen { estimate, pass, factor }
    }

    /// Returns the factor that gives X - H W the norm of X, from ‖X‖² and the difference ‖X - H W‖² - ‖X‖².
    fn factor<'a>(
        &self,
        context: Context<'_>,
        estimate: &Estimate,
        x: impl Iterator<Item = Piece<'a>> + Clone,
    ) -> f32 {
        let (before, change) = (self.energies.values()[BEFORE], self.energies.values()[AFTER]);
        let mut after = before + change;
        if after < LEAST_SHARE * before {
            after = estimate.energy_left(context, x);
        }
        if before == 0.0 { 1.0 } else { (before / after).sqrt() as f32 }
    }

    /// [`NaturalGradient::initial_estimate`] by a minibatch in pieces.
    fn initial_estimate_of<'a>(
        &mut self,
        context: Context<'_>,
        x: impl Iterator<Item = Piece<'a>> + Clone,
    ) -> Estimate {
        let (rows, cols) = size(x.clone());
        self.initial_estimate(context, (rows, cols), |energies, estimate| {
            let mut pass = Pass::new(context, estimate, (rows, 0), true);
            energies.scale(0.0);
            for rows in blocks_of(context, x.clone()) {
                let block = x.clone().map(|piece| piece.row_range(rows.clone()));
                pass.observe(context, estimate, block, rows.clone(), energies);
            }
            pass
        })
    }

    /// Makes the first estimate: starts from a fixed one and makes one or three updates with the first minibatch, which
    /// `look` observes.
    fn initial_estimate<'w>(
        &mut self,
        context: Context<'w>,
        (rows, cols): (usize, usize),
        look: impl Fn(&mut Accumulator, &Estimate) -> Pass<'w>,
    ) -> Estimate {
        self.settings.rank = self.settings.rank.min(cols - 1);
        let mut estimate = Estimate::start(context, self.settings.rank, cols, self.settings.alpha as f64);
        let updates = if rows <= self.settings.rank { 1 } else { 3 };
        for _ in 0..updates {
            let pass = look(&mut self.energies, &estimate);
            // The first check allocates the scratch memory for later ones.
            self.update(context, &mut estimate, pass, true);
        }
        estimate
    }

    /// Updates the estimate with the observation of a pass. Skips it if the estimate is frozen or the rows were not
    /// finite. If `careful`, always checks that its rows are orthonormal.
    fn update(&mut self, context: Context<'_>, estimate: &mut Estimate, pass: Pass<'_>, careful: bool) {
        match context.backend.low_rank() {
            Some(device) => {
                let update = self.low_rank_update(pass.rows, estimate.dim);
                if let Some(postponed) = Postponed::new(context, estimate, pass, update, careful) {
                    remote::update_there(context, device, vec![(estimate, &mut self.energies, postponed)]);
                }
            }
            None => {
                if let Some(change) = self.change(context, estimate, pass) {
                    estimate.replace(context, change, careful);
                }
            }
        }
    }

    /// As [`NaturalGradient::update`], now or before the next use of the estimate.
    fn update_later(&mut self, context: Context<'_>, mut estimate: Estimate, pass: Pass<'_>) {
        if context.backend.low_rank().is_some() {
            let update = self.low_rank_update(pass.rows, estimate.dim);
            self.postponed = Postponed::new(context, &mut estimate, pass, update, false);
        } else {
            self.update(context, &mut estimate, pass, false);
        }
        self.estimate = Some(estimate);
    }

    /// Makes an update that has been put off.
    fn catch_up(&mut self, context: Context<'_>) {
        update_together(context, std::iter::once(self));
    }

    fn low_rank_update(&self, rows: usize, dim: usize) -> LowRankUpdate {
        LowRankUpdate { rows, dim, eta: self.forgetting(rows), alpha: self.settings.alpha as f64 }
    }

    /// Returns the change of the estimate after a pass. `None` if it must not change, or if the rows were not finite.
    fn change<'w>(&self, context: Context<'w>, estimate: &Estimate, pass: Pass<'w>) -> Option<Change<'w>> {
        let (backend, workspace) = (context.backend, context.workspace);
        let Pass { rows, wide_h, j, .. } = pass;
        let (wide_j, rank, dim) = (j?, estimate.rank(), estimate.dim);
        let h = wide_h.as_ref().map(|h| h.view().col_range(0..rank));
        let lk = estimate.moments(context, h, wide_j.view().col_range(0..dim));
        let mut on_host = workspace.floats(2 * rank * rank);
        backend.download_into(lk.view(), &mut on_host);
        let (l, k) = on_host.split_at(rank * rank);
        let energy = self.energies.values()[BEFORE];

        let observation = Observation { rows, dim, energy, l, k };
        let (eta, alpha) = (self.forgetting(rows), self.settings.alpha as f64);
        let factors = Factors::new(workspace, &observation, eta, alpha, &estimate.d, estimate.rho)?;
        Some(Change { factors, wide_j })
    }

    /// η: the weight of the newest minibatch, of `rows` rows.
    fn forgetting(&self, rows: usize) -> f64 {
        match self.settings.num_minibatches_history > 0.0 {
            true => 1.0 / self.settings.num_minibatches_history as f64,
            false => (1.0 - (-(rows as f64) / self.settings.num_samples_history as f64).exp()).min(0.9),
        }
    }
}

/// Splits rows into blocks that stay in a processor's cache during several products; one block if there is no such
/// cache.
fn row_blocks(context: Context<'_>, rows: usize, cols: usize) -> impl Iterator<Item = Range<usize>> {
    let step =
        context.backend.cached_elements().map_or(rows, |most| (most / cols).max(32)).clamp(1, rows.max(1));
    (0..rows).step_by(step).map(move |first| first..rows.min(first + step))
}

/// As [`row_blocks`], for a minibatch in pieces; one block if a piece cannot be split.
fn blocks_of<'a>(
    context: Context<'_>,
    mut x: impl Iterator<Item = Piece<'a>> + Clone,
) -> impl Iterator<Item = Range<usize>> {
    let (rows, cols) = size(x.clone());
    let whole = x.any(|piece| piece.x.is_whole()).then_some(0..rows);
    let parts = if whole.is_some() { 0 } else { rows };
    whole.into_iter().chain(row_blocks(context, parts, cols))
}

/// Rows and columns of a minibatch in pieces.
fn size<'a>(x: impl Iterator<Item = Piece<'a>>) -> (usize, usize) {
    x.fold((0, 0), |(_, cols), piece| (piece.x.rows(), cols + piece.x.cols()))
}

/// One pass over a minibatch X, rows by rows.
struct Pass<'w> {
    /// N.
    rows: usize,
    /// X Wᵀ, N × at least R; `None` if only products of X's columns were seen.
    wide_h: Option<Scratch<'w>>,
    /// R × at least D: Hᵀ X, if the estimate is to be updated.
    j: Option<Scratch<'w>>,
    /// 2R × R: Hᵀ H and room for J Jᵀ, if the former is known.
    moments: Option<Scratch<'w>>,
}

impl<'w> Pass<'w> {
    /// Beside H is room for `more` columns.
    fn new(
        context: Context<'w>,
        estimate: &Estimate,
        (rows, more): (usize, usize),
        updating: bool,
    ) -> Pass<'w> {
        let (rank, dim) = (estimate.rank(), estimate.dim);
        let wide_h = context.workspace.take(rows, rank + more);
        let j = updating.then(|| context.workspace.take(rank, dim.next_multiple_of(ALIGNED)));
        Pass { rows, wide_h: Some(wide_h), j, moments: None }
    }

    /// Adds the statistics of these rows of X, and returns their rows of H.
    fn observe<'a>(
        &mut self,
        context: Context<'_>,
        estimate: &Estimate,
        x: impl Iterator<Item = Piece<'a>> + Clone,
        rows: Range<usize>,
        energies: &mut Accumulator,
    ) -> ViewMut<'_> {
        let keep = if rows.start == 0 { 0.0 } else { 1.0 };
        let wide_h = self.wide_h.as_mut().expect("H, of a pass over rows").view_mut();
        let h = wide_h.row_range(rows).col_range(0..estimate.rank());
        for Piece { x, columns } in x.clone() {
            let sets = if columns.start == 0 { 0.0 } else { 1.0 };
            x.add_energy(context, energies, BEFORE);
            x.product(context, h, estimate.w().col_range(columns), sets);
        }
        if let Some(j) = &mut self.j {
            for Piece { x, columns } in x {
                x.gradient(context, j.view_mut().col_range(columns), 1.0, h.as_view(), keep);
            }
        }
        h
    }
}

#[cfg(test)]
pub(crate) mod oracle;
#[cfg(test)]
mod tests;
