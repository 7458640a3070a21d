//! Estimates that a device updates by itself, so that the host does not wait for it.

use super::factors::shrinkage;
use super::{Estimate, Pass};
use crate::component::Context;
use crate::error::Result;
use crate::snapshot::{Keeper, wrong};
use nnet3_matrix::low_rank::{CORRECT, FINITE, FLAGS, LowRank, LowRankUpdate};
use nnet3_matrix::{Accumulator, Device, Factor, Matrix, Transpose::No, Transpose::Yes};

/// d, e and ρ of an estimate, and what the device decided last.
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

    /// What stands for an estimate of this rank that is to be put back.
    pub(super) fn nothing(rank: usize) -> Remote {
        Remote { state: Accumulator::zeros(2 * rank + 1), flags: Matrix::empty() }
    }

    pub(super) fn keep(&mut self, keeper: &mut Keeper<'_>, rank: usize) -> Result<()> {
        keeper.sums(&mut self.state, 2 * rank + 1)?;
        keeper.any_matrix(&mut self.flags)?;
        match (self.state.len(), self.flags.rows(), self.flags.cols()) == (2 * rank + 1, 1, FLAGS) {
            true => Ok(()),
            false => Err(wrong("an estimate of a device has another size".to_owned())),
        }
    }

    /// Waits for the device.
    pub(crate) fn d_and_rho(&self) -> (Vec<f64>, f64) {
        let state = self.state.values();
        let rank = state.len() / 2;
        (state[..rank].to_vec(), state[2 * rank])
    }
}

impl Estimate {
    /// Does on the device what [`super::NaturalGradient::update`] does.
    pub(super) fn update_there(
        &mut self,
        context: Context<'_>,
        device: &dyn LowRank,
        pass: Pass<'_>,
        update: LowRankUpdate,
        energies: &mut Accumulator,
        careful: bool,
    ) {
        let (backend, workspace, rank) = (context.backend, context.workspace, self.rank());
        let Pass { wide_h, j: Some(mut wide_j), .. } = pass else { return };
        let j = wide_j.view_mut().col_range(0..self.dim);
        let h = wide_h.as_ref().map(|h| h.view().col_range(0..rank));
        let moments = self.moments(context, h, j.as_view());
        let mut remote = self
            .remote
            .take()
            .unwrap_or_else(|| Remote::new(workspace.device(), &self.d, self.rho, update.alpha, self.dim));
        let Remote { state, flags } = &mut remote;

        // W += A (J + diag(carry) W) - W, if that is finite.
        let mut a = workspace.take(rank, rank + 1);
        let mut change = workspace.take(rank, self.dim);
        device.low_rank_update(a.view_mut(), flags.view_mut(), state, moments.view(), energies, update);
        backend.add_scaled_rows(j, 1.0, a.view().col_range(rank..rank + 1), self.w());
        backend.gemm(change.view_mut(), 1.0, a.view().col_range(0..rank), No, j.as_view(), No, 0.0);
        backend.add(change.view_mut(), -1.0, self.w());
        let flag = |k: usize| Factor { times: 1.0, element: flags.view().col_range(k..k + 1) };
        backend.add_by(self.w_mut(), flag(FINITE), change.view());

        // W += C W, if that is necessary.
        let mut products = workspace.take(rank, rank);
        let mut correction = workspace.take(rank, rank);
        backend.gemm(products.view_mut(), 1.0, self.w(), No, self.w(), Yes, 0.0);
        device.low_rank_correction(correction.view_mut(), flags.view_mut(), state, products.view(), careful);
        backend.gemm(change.view_mut(), 1.0, correction.view(), No, self.w(), No, 0.0);
        let flag = |k: usize| Factor { times: 1.0, element: flags.view().col_range(k..k + 1) };
        backend.add_by(self.w_mut(), flag(CORRECT), change.view());
        device.low_rank_restart(self.w_mut(), flags.view(), state);
        self.remote = Some(remote);
    }
}
