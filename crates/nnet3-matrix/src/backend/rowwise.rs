//! Functions of whole rows, and of groups of columns in a row.

use crate::view::{View, ViewMut};

/// Functions of whole rows. See the conventions of [`crate::backend`].
pub trait RowFunctions {
    /// dst = softmax of each row of src; in place allowed.
    fn softmax(&self, dst: ViewMut<'_>, src: View<'_>);
    /// dst = src - log Σ exp(src), row by row; in place allowed.
    fn log_softmax(&self, dst: ViewMut<'_>, src: View<'_>);
    /// dst = y ⊙ e - y (y · e), row by row; in place with `out_deriv` allowed.
    fn softmax_backward(&self, dst: ViewMut<'_>, out_value: View<'_>, out_deriv: View<'_>);
    /// dst = e - exp(y) Σ e, row by row; in place with `out_deriv` allowed.
    fn log_softmax_backward(&self, dst: ViewMut<'_>, out_value: View<'_>, out_deriv: View<'_>);
    /// dst\[i, j\] = 2-norm of columns j·g … j·g+g-1 of src's row i, g = src.cols / dst.cols.
    fn group_norm(&self, dst: ViewMut<'_>, src: View<'_>);
    /// in_deriv\[i, k\] = out_deriv\[i, j\] · in_value\[i, k\] / out_value\[i, j\], j the group of k; 0 where out_value
    /// is 0.
    fn group_norm_backward(
        &self,
        in_deriv: ViewMut<'_>,
        in_value: View<'_>,
        out_value: View<'_>,
        out_deriv: View<'_>,
    );
}
