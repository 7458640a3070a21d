//! Single elements at places that the host knows.

use crate::view::{View, ViewMut};

/// Single elements are read and added to. See the conventions of [`crate::backend`].
pub trait SingleElements {
    /// values\[k\] = src\[r, c\] for each pair (r, c) of `places`. This waits for a device that is not the host.
    fn fetch_elements(&self, values: &mut [f32], src: View<'_>, places: &[[u32; 2]]);
    /// dst\[r, c\] += alpha · values\[k\] for each pair (r, c) of `places`; no pair occurs twice.
    fn add_elements(&self, dst: ViewMut<'_>, alpha: f32, values: &[f32], places: &[[u32; 2]]);
}
