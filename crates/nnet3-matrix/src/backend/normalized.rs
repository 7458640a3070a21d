//! Normalisation of the columns of a matrix, in one pass with the steps around it: rectification before it, masks and a
//! bypass after it. And the derivative of these steps.

use super::broadcast::RowsWithVectors;
use super::sums::Reductions;
use crate::memory::{Accumulator, IndexTable};
use crate::view::{View, ViewMut};

/// The other term of a [`NormalizedSum`].
#[derive(Clone, Copy)]
pub struct Bypass<'a> {
    pub matrix: View<'a>,
    pub factor: f32,
    /// For each row of the result the number of a row of `matrix`, -1 for zeros. If there is no table, row i goes to row i.
    pub rows: Option<&'a IndexTable>,
}

/// Terms of [`Normalizations::normalized_sum`].
#[derive(Clone, Copy)]
pub struct NormalizedSum<'a> {
    pub src: View<'a>,
    /// If true, zeros take the place of negative elements of `src`.
    pub rectifies: bool,
    /// Means and scales of the columns of `src`, as [`Reductions::moments`] sets them, 3 × cols.
    pub moments: View<'a>,
    /// Masks, and the number of the mask of each row.
    pub masks: Option<(View<'a>, &'a IndexTable)>,
    pub bypass: Option<Bypass<'a>>,
}

/// The derivative e at the output of a rectification, a normalisation and masks, and the values that its way back needs.
#[derive(Clone, Copy)]
pub struct NormalizedDeriv<'a> {
    pub out_deriv: View<'a>,
    /// Masks, and the number of the mask of each row.
    pub masks: Option<(View<'a>, &'a IndexTable)>,
    /// The input x of the normalisation, or of the rectification before it: only max(x, 0) matters.
    pub input: View<'a>,
    /// Means and scales of the columns of max(x, 0), 3 × cols.
    pub moments: View<'a>,
}

/// Further results of [`Normalizations::normalized_deriv`].
#[derive(Default)]
pub struct DerivBeforeRelu<'a> {
    /// Receives the sums of squares over rows of the derivative at the output of the rectification.
    pub squares: Option<&'a mut Accumulator>,
    /// Factor of the last row of `sums`, which is added to each row of the result; 0 for no addition.
    pub repair: f32,
    /// Becomes this multiple of e.
    pub copy: Option<(ViewMut<'a>, f32)>,
}

/// See the conventions of [`crate::backend`]. Results equal those of the separate primitives, apart from the rounding of
/// sums over few rows or columns.
pub trait Normalizations: Reductions + RowsWithVectors {
    /// As [`Reductions::moments`] of max(src, 0). Adds the sums over rows of max(src, 0) to the first of `sums`, and to the
    /// second one the numbers of elements above 0, if they are given.
    fn rectified_moments(
        &self,
        moments: ViewMut<'_>,
        src: View<'_>,
        factor: f32,
        epsilon: f32,
        sums: Option<[&mut Accumulator; 2]>,
    );
    /// Each row i: values.row(i) = (src.row(i) - mean) ⊙ scale, and dst.row(i) = factor · bypass.row(rows\[i\]) + mask ⊙
    /// values.row(i). `values` are not written if they are `None`. `values` or `dst` may be `src`.
    fn normalized_sum(&self, dst: ViewMut<'_>, values: Option<ViewMut<'_>>, terms: &NormalizedSum<'_>);
    /// With e = mask ⊙ out_deriv and y = (max(x, 0) - mean) ⊙ scale: row 0 of `sums` = (sums of e over rows) / rows, row 1 =
    /// factor · scale ⊙ (sums of e ⊙ y). `sums` is 3 × cols; its last row is not written.
    fn normalized_deriv_sums(&self, sums: ViewMut<'_>, factor: f32, terms: &NormalizedDeriv<'_>);
    /// With e and y as above, each row: d = (e - sums.row(0)) ⊙ scale + sums.row(1) ⊙ y, and in_deriv = d where x is above 0,
    /// else 0. `rest` has further results of the same pass.
    fn normalized_deriv(
        &self,
        in_deriv: ViewMut<'_>,
        sums: View<'_>,
        terms: &NormalizedDeriv<'_>,
        rest: DerivBeforeRelu<'_>,
    );
}
