//! Whole matrices: setting, copying, scaling, adding. Shapes are equal, or transposed.

use crate::view::{View, ViewMut};

/// Whole matrices are set, copied, scaled and added. See the conventions of [`crate::backend`].
pub trait WholeMatrices {
    /// dst = value.
    fn set(&self, dst: ViewMut<'_>, value: f32);
    /// dst = src.
    fn copy(&self, dst: ViewMut<'_>, src: View<'_>);
    /// dst *= factor.
    fn scale(&self, dst: ViewMut<'_>, factor: f32);
    /// dst += alpha · src.
    fn add(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>);
    /// dst = alpha · src; in place allowed.
    fn copy_scaled(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>);
    /// dst = Σ factor · src over one to six terms, or dst += that with `adds`.
    fn weighted_sum(&self, dst: ViewMut<'_>, terms: &[(f32, View<'_>)], adds: bool) {
        assert!((1..=6).contains(&terms.len()), "{} terms", terms.len());
        for (k, &(factor, src)) in terms.iter().enumerate() {
            match k > 0 || adds {
                true => self.add(dst, factor, src),
                false => self.copy_scaled(dst, factor, src),
            }
        }
    }
    /// dst = srcᵀ.
    fn copy_transposed(&self, dst: ViewMut<'_>, src: View<'_>);
}
