//! Operations on the rows of a matrix and a vector. A row vector (1 × cols) applies to every row. A column vector (rows
//! × 1) has a number for each row.

use super::rows::PickedRows;
use crate::memory::IndexTable;
use crate::view::{View, ViewMut};

/// Terms of [`RowsWithVectors::normalized_sum`].
#[derive(Clone, Copy)]
pub struct NormalizedSum<'a> {
    pub src: View<'a>,
    /// The mean of each column of `src`, 1 × cols.
    pub mean: View<'a>,
    /// The scale of each column, 1 × cols.
    pub scale: View<'a>,
    /// Masks, and the number of the mask of each row.
    pub masks: Option<(View<'a>, &'a IndexTable)>,
    /// The other term, and its factor.
    pub other: View<'a>,
    pub factor: f32,
    /// For each row the number of a row of `other`, -1 for zeros. If there is no table, row i goes to row i.
    pub rows: Option<&'a IndexTable>,
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
    fn normalize_cols_and_add(
        &self,
        dst: ViewMut<'_>,
        src: View<'_>,
        mean: View<'_>,
        scale: View<'_>,
        factor: View<'_>,
        other: View<'_>,
    ) {
        self.normalize_cols(dst, src, mean, scale);
        self.add_scaled_cols(dst, 1.0, factor, other);
    }
    /// Each row i: values.row(i) = (src.row(i) - mean) ⊙ scale, and dst.row(i) = factor · other.row(rows\[i\]) + mask ⊙
    /// values.row(i). `values` may be `src`.
    fn normalized_sum(&self, dst: ViewMut<'_>, values: ViewMut<'_>, terms: &NormalizedSum<'_>) {
        self.normalize_cols(values, terms.src, terms.mean, terms.scale);
        match terms.rows {
            Some(rows) => self.copy_rows(dst, terms.factor, terms.other, rows),
            None => self.copy_scaled(dst, terms.factor, terms.other),
        }
        let values = values.as_view();
        let Some((masks, numbers)) = terms.masks else { return self.add(dst, 1.0, values) };
        assert_eq!(numbers.len(), dst.rows(), "masks for a matrix of {} rows", dst.rows());
        for (i, &mask) in numbers.values().iter().enumerate() {
            self.add_product(dst.row(i), 1.0, values.row(i), masks.row(mask as usize));
        }
    }
}
