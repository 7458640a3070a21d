//! Products of each row with some rows of another matrix that are `shift` rows apart: attention over a window in time.

use crate::view::{View, ViewMut};

/// Products of rows within a band. See the conventions of [`crate::backend`].
pub trait BandedProducts {
    /// c\[i, o\] = alpha · a.row(i) · b.row(i + o·shift). a: n × k, c: n × context, b: (n + (context-1)·shift) × k.
    fn banded_dots(&self, c: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, shift: usize);
    /// a.row(i) += alpha · Σ_o c\[i, o\] · b.row(i + o·shift).
    fn banded_apply(&self, a: ViewMut<'_>, alpha: f32, c: View<'_>, b: View<'_>, shift: usize);
    /// b.row(i + o·shift) += alpha · c\[i, o\] · a.row(i).
    fn banded_scatter(&self, b: ViewMut<'_>, alpha: f32, c: View<'_>, a: View<'_>, shift: usize);
}
