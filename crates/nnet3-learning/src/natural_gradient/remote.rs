//! Estimates that a device updates itself, so the host does not wait for it.

use super::factors::shrinkage;
use super::{Estimate, NaturalGradient, Pass};
use nnet3_base::error::Result;
use nnet3_base::snapshot::{Keeper, wrong};
use nnet3_component::Context;
use nnet3_matrix::low_rank::{CORRECT, Due, FINITE, FLAGS, LowRank, LowRankUpdate};
use nnet3_matrix::{Accumulator, Device, Factor, Gemm, Matrix, Scratch, View, ViewMut};

/// d, e and ρ of an estimate, and the latest decision of the device.
#[derive(Clone, Debug)]
pub(super) struct Remote {
    state: Accumulator,
    flags: Matrix,
}

impl Remote {
    fn new(device: &Device, d: &[f64], rho: f64, alpha: f64, dim: usize) -> Remote {
        let mut e = vec![0.0; d.len()];
        shrinkage(d, rho, alpha, dim, &mut e);
        let state = Accumulator::from_vec([d, &e, &[rho]].concat());
        Remote { state, flags: Matrix::zeros(device, 1, FLAGS) }
    }

    /// A placeholder of this rank; the caller puts an estimate back in its place.
    pub(super) fn nothing(rank: usize) -> Remote {
        Remote { state: Accumulator::zeros(2 * rank + 1), flags: Matrix::empty() }
    }

    pub(super) fn keep(&mut self, keeper: &mut Keeper<'_>, rank: usize) -> Result<()> {
        keeper.sums(&mut self.state, 2 * rank + 1)?;
        keeper.any_matrix(&mut self.flags)?;
        match (self.state.len(), self.flags.rows(), self.flags.cols()) == (2 * rank + 1, 1, FLAGS) {
            true => Ok(()),
            false => {
                Err(wrong("the estimate on the device has another size than the one to be loaded".to_owned()))
            }
        }
    }

    /// Waits for the device.
    pub(crate) fn d_and_rho(&self) -> (Vec<f64>, f64) {
        let state = self.state.values();
        let rank = state.len() / 2;
        (state[..rank].to_vec(), state[2 * rank])
    }
}

/// An update with complete observations. Only the algebra remains, which a device does for many estimates side by side.
/// Its matrices are the workspace's.
#[derive(Clone, Debug)]
pub(super) struct Postponed {
    /// R × at least D.
    wide_j: Matrix,
    /// [`Estimate::moments`].
    moments: Matrix,
    update: LowRankUpdate,
    careful: bool,
}

impl Postponed {
    /// Begins an update; `None` if the estimate must not change.
    pub(super) fn new(
        context: Context<'_>,
        estimate: &mut Estimate,
        pass: Pass<'_>,
        update: LowRankUpdate,
        careful: bool,
    ) -> Option<Postponed> {
        let Pass { wide_h, j: Some(wide_j), moments, .. } = pass else { return None };
        let (rank, dim) = (estimate.rank(), estimate.dim);
        let (h, j) = (wide_h.as_ref().map(|h| h.view().col_range(0..rank)), wide_j.view().col_range(0..dim));
        let moments = match moments {
            Some(known) => estimate.second_moments(context, known, j),
            None => estimate.moments(context, h, j),
        };
        let device = context.workspace.device();
        let Estimate { remote, d, rho, .. } = estimate;
        remote.get_or_insert_with(|| Remote::new(device, d, *rho, update.alpha, dim));
        Some(Postponed { wide_j: wide_j.into_matrix(), moments: moments.into_matrix(), update, careful })
    }
}

/// Makes the updates that have been put off, side by side.
pub(crate) fn update_together<'n>(context: Context<'_>, all: impl Iterator<Item = &'n mut NaturalGradient>) {
    let mut due = Vec::new();
    for NaturalGradient { estimate, energies, postponed, .. } in all {
        if let (Some(estimate), Some(postponed)) = (estimate, postponed.take()) {
            due.push((estimate, energies, postponed));
        }
    }
    if let Some(device) = context.backend.low_rank()
        && !due.is_empty()
    {
        update_there(context, device, due);
    }
}

/// As [`NaturalGradient::update`], on the device.
pub(super) fn update_there(
    context: Context<'_>,
    device: &dyn LowRank,
    mut all: Vec<(&mut Estimate, &mut Accumulator, Postponed)>,
) {
    let workspace = context.workspace;
    let mut combinations: Vec<Scratch<'_>> = Vec::with_capacity(all.len());
    combinations
        .extend(all.iter().map(|(estimate, ..)| workspace.take(estimate.rank(), estimate.rank() + 1)));
    let mut due: Vec<Due<'_>> = Vec::with_capacity(all.len());
    for ((estimate, energies, postponed), a) in all.iter_mut().zip(&mut combinations) {
        let Remote { state, flags } = estimate.remote.as_mut().expect("made with what is put off");
        let (moments, update) = (postponed.moments.view(), postponed.update);
        due.push(Due { a: a.view_mut(), flags: flags.view_mut(), state, moments, energies, update });
    }
    device.low_rank_update(&mut due);
    drop(due);
    for ((estimate, _, postponed), a) in all.into_iter().zip(combinations) {
        let Postponed { mut wide_j, moments, careful, .. } = postponed;
        workspace.take_back(moments);
        estimate.combine(context, device, a.view(), wide_j.view_mut(), careful);
        workspace.take_back(wide_j);
    }
}

impl Estimate {
    /// W = A (J + diag(carry) W), if the update was finite, reorthogonalised if need be.
    fn combine(
        &mut self,
        context: Context<'_>,
        device: &dyn LowRank,
        a: View<'_>,
        wide_j: ViewMut<'_>,
        careful: bool,
    ) {
        let (backend, workspace, rank) = (context.backend, context.workspace, self.rank());
        let j = wide_j.col_range(0..self.dim);
        let mut remote = self.remote.take().expect("made with what is put off");
        let Remote { state, flags } = &mut remote;

        // W += A (J + diag(carry) W) - W, if that is finite.
        let mut change = workspace.take(rank, self.dim);
        backend.add_scaled_rows(j, 1.0, a.col_range(rank..rank + 1), self.w());
        backend.gemm(Gemm::set(change.view_mut(), a.col_range(0..rank), j));
        backend.add(change.view_mut(), -1.0, self.w());
        let flag = |k: usize| Factor { times: 1.0, element: flags.view().col_range(k..k + 1) };
        backend.add_by(self.w_mut(), flag(FINITE), change.view());

        // W += C W, if that is necessary.
        let mut products = workspace.take(rank, rank);
        let mut correction = workspace.take(rank, rank);
        backend.gemm(Gemm::set(products.view_mut(), self.w(), self.w().transposed()));
        device.low_rank_correction(correction.view_mut(), flags.view_mut(), state, products.view(), careful);
        backend.gemm(Gemm::set(change.view_mut(), correction.view(), self.w()));
        let flag = |k: usize| Factor { times: 1.0, element: flags.view().col_range(k..k + 1) };
        backend.add_by(self.w_mut(), flag(CORRECT), change.view());
        device.low_rank_restart(self.w_mut(), flags.view(), state);
        self.remote = Some(remote);
        if let Some(products) = self.products.take() {
            workspace.take_back(products);
        }
    }
}
