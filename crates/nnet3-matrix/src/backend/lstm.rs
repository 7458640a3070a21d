//! The nonlinear parts of recurrent cells, fused: one loop reads each element once and computes all wanted results.

use crate::memory::Accumulator;
use crate::view::{View, ViewMut};

/// Arguments of [`RecurrentCells::lstm_cell_backward`] for N rows and C cells.
#[derive(Debug)]
pub struct LstmBackward<'a> {
    /// As in [`RecurrentCells::lstm_cell`], and so are `params`.
    pub input: View<'a>,
    pub params: View<'a>,
    /// N × 2C.
    pub out_deriv: View<'a>,
    /// 5 × C: the amounts r for i, f, g, o, h.
    pub self_repair: View<'a>,
    /// Its first 5C columns are set, unless it is empty.
    pub in_deriv: ViewMut<'a>,
    /// 3 × C: derivatives are added, unless it is empty.
    pub params_deriv: ViewMut<'a>,
    pub sums: Option<LstmSums<'a>>,
}

/// Receivers of sums over rows of the nonlinearities' values and derivatives: 5·C each, in the order i, f, g, o, h.
#[derive(Debug)]
pub struct LstmSums<'a> {
    pub values: &'a mut Accumulator,
    pub derivs: &'a mut Accumulator,
}

/// The nonlinear parts of recurrent cells. See the conventions of [`crate::backend`].
pub trait RecurrentCells {
    /// `LstmNonlinearityComponent`, forward. `input` is N × 5C or N × (5C + 3): parts i, f, c, o, previous c and
    /// optional per-row dropout factors for i, f, o. `params` is 3 × C: peepholes for i, f, o. `output` is N × 2C: c,
    /// m.
    fn lstm_cell(&self, output: ViewMut<'_>, input: View<'_>, params: View<'_>);
    /// Its derivatives.
    fn lstm_cell_backward(&self, cell: LstmBackward<'_>);
}
