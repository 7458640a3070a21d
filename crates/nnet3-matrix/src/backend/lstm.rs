//! The nonlinear parts of recurrent cells, fused: one loop reads each element once and computes all wanted results.

use crate::memory::Accumulator;
use crate::view::{View, ViewMut};

/// The nonlinear parts of recurrent cells. See the conventions of [`crate::backend`].
pub trait RecurrentCells {
    /// `LstmNonlinearityComponent`, forward. `input` is N × 5C or N × (5C + 3): parts i, f, c, o, previous c and
    /// optional per-row dropout factors for i, f, o. `params` is 3 × C: peepholes for i, f, o. `output` is N × 2C: c,
    /// m.
    fn lstm_cell(&self, output: ViewMut<'_>, input: View<'_>, params: View<'_>);
    /// Its derivatives. `self_repair` 5 × C: the amounts r for i, f, g, o, h. Sets the first 5C columns of `in_deriv`
    /// (if not empty), and adds to `params_deriv` (3 × C, if not empty). If given, `values` and `derivs` get sums of
    /// the nonlinearities' values and derivatives: 5·C each, in the order i, f, g, o, h.
    #[allow(clippy::too_many_arguments)]
    fn lstm_cell_backward(
        &self,
        input: View<'_>,
        params: View<'_>,
        out_deriv: View<'_>,
        self_repair: View<'_>,
        in_deriv: ViewMut<'_>,
        params_deriv: ViewMut<'_>,
        sums: Option<(&mut Accumulator, &mut Accumulator)>,
    );
}
