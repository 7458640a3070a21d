//! Operations on the rows of a matrix and a vector. A row vector (1 × cols) applies to every row. A column vector (rows
//! × 1) has a number for each row.

use super::rows::PickedRows;
use crate::view::{View, ViewMut};

/// Terms of [`RowsWithVectors::normalize_cols_and_add`]: two matrices and three rows.
#[derive(Clone, Copy, Debug)]
pub struct NormalizedPlus<'a> {
    pub src: View<'a>,
    pub mean: View<'a>,
    pub scale: View<'a>,
    pub factor: View<'a>,
    pub other: View<'a>,
}

/// Functions of the rows of matrices and of vectors. See the conventions of [`crate::backend`].
pub trait RowsWithVectors: PickedRows {
    /// Each row of dst = row (1 × cols).
    fn set_rows(&self, dst: ViewMut<'_>, row: View<'_>);
    /// Each row of dst += alpha · row.
    fn add_to_rows(&self, dst: ViewMut<'_>, alpha: f32, row: View<'_>);
    /// dst.col(j) *= row\[j\].
    fn scale_cols(&self, dst: ViewMut<'_>, row: View<'_>);
    /// dst.row(i) *= col\[i\], `col` being rows × 1.
    fn scale_rows(&self, dst: ViewMut<'_>, col: View<'_>);
    /// dst.row(i) += alpha · col\[i\] · src.row(i).
    fn add_scaled_rows(&self, dst: ViewMut<'_>, alpha: f32, col: View<'_>, src: View<'_>);
    /// Each row i: dst.row(i) += alpha · row ⊙ src.row(i).
    fn add_scaled_cols(&self, dst: ViewMut<'_>, alpha: f32, row: View<'_>, src: View<'_>);
    /// Each row i: dst.row(i) = scale ⊙ src.row(i) + offset; in place allowed.
    fn affine_cols(&self, dst: ViewMut<'_>, src: View<'_>, scale: View<'_>, offset: View<'_>) {
        if !dst.same_start(&src) {
            self.copy(dst, src);
        }
        self.scale_cols(dst, scale);
        self.add_to_rows(dst, 1.0, offset);
    }
    /// Each row i: dst.row(i) = (src.row(i) - mean) ⊙ scale; in place allowed.
    fn normalize_cols(&self, dst: ViewMut<'_>, src: View<'_>, mean: View<'_>, scale: View<'_>) {
        if !dst.same_start(&src) {
            self.copy(dst, src);
        }
        self.add_to_rows(dst, -1.0, mean);
        self.scale_cols(dst, scale);
    }
    /// Each row i: dst.row(i) = (src.row(i) - mean) ⊙ scale + factor ⊙ other.row(i); in place with `src` allowed.
    fn normalize_cols_and_add(&self, dst: ViewMut<'_>, terms: NormalizedPlus<'_>) {
        let NormalizedPlus { src, mean, scale, factor, other } = terms;
        self.normalize_cols(dst, src, mean, scale);
        self.add_scaled_cols(dst, 1.0, factor, other);
    }
}
