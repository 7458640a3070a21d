//! Sums over rows, columns, or all elements: as numbers for the host, as rows and columns, or into an [`Accumulator`], which
//! stays on the device. The order of the terms depends on shapes alone.

use super::elementwise::{Activation, Elementwise, Map};
use crate::memory::Accumulator;
use crate::view::{View, ViewMut};

/// Term of each element that is summed over rows into an [`Accumulator`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnTerm {
    /// y.
    Value,
    /// y².
    Square,
    /// The derivative of an activation at output y.
    Derivative(Activation),
    /// 1 if y is at least this, else 0.
    AtLeast(f32),
}

/// sums = sums_factor · (column sums of b), dots = dots_factor · (column sums of a ⊙ b). Both are rows.
#[derive(Clone, Copy, Debug)]
pub struct ColSumsAndDots<'a> {
    pub sums: ViewMut<'a>,
    pub sums_factor: f32,
    pub dots: ViewMut<'a>,
    pub dots_factor: f32,
    pub a: View<'a>,
    pub b: View<'a>,
}

/// Sums over rows, columns and all elements. See the conventions of [`crate::backend`].
pub trait Reductions: Elementwise {
    /// Sum of all elements (`f64` accumulation).
    fn sum(&self, src: View<'_>) -> f64;
    /// Sum of products of corresponding elements (`f64` accumulation).
    fn dot(&self, a: View<'_>, b: View<'_>) -> f64;
    /// row = alpha · (column sums of src) + beta · row.
    fn col_sums(&self, row: ViewMut<'_>, alpha: f32, src: View<'_>, beta: f32);
    /// row = alpha · (column sums of a ⊙ b) + beta · row, i.e. diag(aᵀ b).
    fn col_dots(&self, row: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32);
    /// As [`Reductions::col_sums`] and [`Reductions::col_dots`] one after the other.
    fn col_sums_and_dots(&self, both: ColSumsAndDots<'_>) {
        let ColSumsAndDots { sums, sums_factor, dots, dots_factor, a, b } = both;
        self.col_sums(sums, sums_factor, b, 0.0);
        self.col_dots(dots, dots_factor, a, b, 0.0);
    }
    /// The rows of `moments` (3 × cols) for a normalisation of the columns of src: their means, the means of their squares,
    /// and scales, (max(0, factor · (mean of squares − mean²)) + factor · epsilon)^-½.
    fn moments(&self, moments: ViewMut<'_>, src: View<'_>, factor: f32, epsilon: f32) {
        self.moments_step_by_step(moments, src, factor, epsilon)
    }
    /// As [`Reductions::moments`], by other primitives.
    fn moments_step_by_step(&self, moments: ViewMut<'_>, src: View<'_>, factor: f32, epsilon: f32) {
        let per_row = 1.0 / src.rows() as f32;
        self.col_sums_and_dots(ColSumsAndDots {
            sums: moments.row(0),
            sums_factor: per_row,
            dots: moments.row(1),
            dots_factor: per_row,
            a: src,
            b: src,
        });
        self.finish_moments(moments, factor, epsilon);
    }
    /// The last step of [`Reductions::moments`]: sets the scales after means and means of squares.
    fn finish_moments(&self, moments: ViewMut<'_>, factor: f32, epsilon: f32) {
        let [mean, square, scale] = [0, 1, 2].map(|row| moments.row(row));
        self.copy_scaled(scale, factor, square.as_view());
        self.add_product(scale, -factor, mean.as_view(), mean.as_view());
        self.map(scale, scale.as_view(), Map::Floor(0.0));
        self.map(scale, scale.as_view(), Map::Affine { scale: 1.0, offset: factor * epsilon });
        self.map(scale, scale.as_view(), Map::Power(-0.5));
    }
    /// col = alpha · (row sums of src) + beta · col.
    fn row_sums(&self, col: ViewMut<'_>, alpha: f32, src: View<'_>, beta: f32);
    /// col = alpha · (row sums of a ⊙ b) + beta · col, i.e. diag(a bᵀ).
    fn row_dots(&self, col: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32);
    /// sums\[first + j\] += Σ_i term(src\[i, j\]); a column's sum is formed in `f32`-or-better, then added in `f64`.
    fn accumulate(&self, sums: &mut Accumulator, first: usize, src: View<'_>, term: ColumnTerm);
    /// sums\[index\] += alpha · (sum of products of corresponding elements), in `f64`.
    fn accumulate_dot(&self, sums: &mut Accumulator, index: usize, alpha: f64, a: View<'_>, b: View<'_>);
    /// col = column sums of src, as a column (columns of src × 1); sums\[index\] += sum of squares of all elements. Reads src once.
    fn col_sums_and_square(&self, col: ViewMut<'_>, sums: &mut Accumulator, index: usize, src: View<'_>);
    /// sums\[first + j\] += alpha · row\[j\], in `f64`; `row` is 1 × n.
    fn accumulate_row(&self, sums: &mut Accumulator, first: usize, alpha: f64, row: View<'_>);
}
