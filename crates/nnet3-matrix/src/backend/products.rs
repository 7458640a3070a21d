//! Products of matrices. Sums of products are formed in `f32`, in an order that depends only on the shapes. A GPU may
//! round factors first, if configured so ([`crate::cuda::GpuMath`]).

use super::RowsWithVectors;
use crate::view::{Blocks, View, ViewMut};
use std::ops::Range;

/// Transposition of a factor of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transpose {
    No,
    Yes,
}

impl Transpose {
    /// This matrix, or its transpose, as a factor of a product.
    pub fn of<M>(self, matrix: M) -> Operand<M> {
        Operand { matrix, transpose: self }
    }
}

/// op(m): a factor of a product, which is a matrix m or its transpose. `From` makes one of a matrix as it is,
/// [`View::transposed`] and [`Blocks::transposed`] of transposes.
#[derive(Clone, Copy, Debug)]
pub struct Operand<M> {
    pub matrix: M,
    pub transpose: Transpose,
}

impl<M> Operand<M> {
    pub fn is_transposed(&self) -> bool {
        self.transpose == Transpose::Yes
    }
}

impl<'a> Operand<View<'a>> {
    /// Rows and columns of op(m).
    pub fn shape(&self) -> (usize, usize) {
        let (rows, cols) = (self.matrix.rows(), self.matrix.cols());
        if self.is_transposed() { (cols, rows) } else { (rows, cols) }
    }

    /// The part of op(m) with these rows.
    pub(crate) fn row_range(self, rows: Range<usize>) -> Operand<View<'a>> {
        let m = self.matrix;
        self.transpose.of(if self.is_transposed() { m.col_range(rows) } else { m.row_range(rows) })
    }

    /// The part of op(m) with these columns.
    pub(crate) fn col_range(self, cols: Range<usize>) -> Operand<View<'a>> {
        let m = self.matrix;
        self.transpose.of(if self.is_transposed() { m.row_range(cols) } else { m.col_range(cols) })
    }
}

impl<M> From<M> for Operand<M> {
    fn from(matrix: M) -> Operand<M> {
        Transpose::No.of(matrix)
    }
}

impl<'a> From<ViewMut<'a>> for Operand<View<'a>> {
    fn from(matrix: ViewMut<'a>) -> Operand<View<'a>> {
        Transpose::No.of(matrix.as_view())
    }
}

/// c = alpha · op(a) · op(b) + beta · c. With beta 0, c's old contents (NaN too) are ignored. [`Gemm`] is about matrices,
/// [`GemmBlocks`] about several of them.
#[derive(Clone, Copy, Debug)]
pub struct GemmOf<C, F> {
    pub c: C,
    pub alpha: f32,
    pub a: Operand<F>,
    pub b: Operand<F>,
    pub beta: f32,
}

/// A product of two matrices.
pub type Gemm<'a> = GemmOf<ViewMut<'a>, View<'a>>;

/// Products of the same shapes. No two of `c` overlap.
pub type GemmBlocks<'a> = GemmOf<Blocks<ViewMut<'a>>, Blocks<View<'a>>>;

impl<C, F> GemmOf<C, F> {
    /// c = op(a) · op(b).
    pub fn set(c: C, a: impl Into<Operand<F>>, b: impl Into<Operand<F>>) -> Self {
        GemmOf { c, alpha: 1.0, a: a.into(), b: b.into(), beta: 0.0 }
    }

    /// c += op(a) · op(b).
    pub fn add(c: C, a: impl Into<Operand<F>>, b: impl Into<Operand<F>>) -> Self {
        GemmOf { beta: 1.0, ..GemmOf::set(c, a, b) }
    }

    /// The same with this alpha.
    pub fn times(self, alpha: f32) -> Self {
        GemmOf { alpha, ..self }
    }
}

impl<'a> Gemm<'a> {
    /// The same with a bias, for a product that ignores old contents.
    pub fn with_bias(self, bias: View<'a>) -> GemmWithBias<'a> {
        let Gemm { c, alpha, a, b, beta } = self;
        assert_eq!(beta, 0.0, "the factor of the old contents of a product with a bias");
        GemmWithBias { c, alpha, a, b, bias }
    }
}

impl GemmBlocks<'_> {
    /// Returns the number of products. Panics unless there are as many a, b and c.
    #[track_caller]
    pub fn count(&self) -> usize {
        let [count, of_a, of_b] = [self.c.len(), self.a.matrix.len(), self.b.matrix.len()];
        assert!(count == of_a && count == of_b, "{count}, {of_a} and {of_b} matrices");
        count
    }
}

/// c = alpha · op(a) · op(b) + 1 bias: adds `bias`, 1 × columns of c, to each row of the product. Ignores c's old
/// contents, NaN too.
#[derive(Clone, Copy, Debug)]
pub struct GemmWithBias<'a> {
    pub c: ViewMut<'a>,
    pub alpha: f32,
    pub a: Operand<View<'a>>,
    pub b: Operand<View<'a>>,
    pub bias: View<'a>,
}

/// Products of matrices. See the conventions of [`crate::backend`].
pub trait Products: RowsWithVectors {
    /// Computes the product. Neither factor overlaps c.
    fn gemm(&self, product: Gemm<'_>);
    /// Computes the product with its bias.
    fn gemm_with_bias(&self, product: GemmWithBias<'_>) {
        let GemmWithBias { c, alpha, a, b, bias } = product;
        self.set_rows(c, bias);
        self.gemm(Gemm { c, alpha, a, b, beta: 1.0 })
    }
    /// c = aᵀ a.
    fn gram(&self, c: ViewMut<'_>, a: View<'_>) {
        self.gemm(Gemm::set(c, a.transposed(), a));
    }
    /// Computes all products.
    fn gemm_blocks(&self, products: GemmBlocks<'_>) {
        let GemmBlocks { c, alpha, a, b, beta } = products;
        for k in 0..products.count() {
            let (a, b) = (a.transpose.of(a.matrix.get(k)), b.transpose.of(b.matrix.get(k)));
            self.gemm(Gemm { c: c.get(k), alpha, a, b, beta });
        }
    }
}
