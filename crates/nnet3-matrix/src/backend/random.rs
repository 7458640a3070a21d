//! Counter-based random numbers: a call's numbers depend on its key and on positions, not on earlier calls.

use crate::view::ViewMut;

/// Random numbers. See the conventions of [`crate::backend`].
pub trait RandomNumbers {
    /// Uniform numbers strictly inside (0, 1); element (i, j) depends on `key`, i, j only, on every device.
    fn fill_uniform(&self, dst: ViewMut<'_>, key: u64);
    /// Standard normal numbers, element (i, j) depending on `key`, i, j only.
    fn fill_normal(&self, dst: ViewMut<'_>, key: u64);
}
