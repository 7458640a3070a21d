//! Products of matrices. Sums of products are formed in `f32`, in an order that depends only on the shapes. A GPU may
//! round factors first, if configured so ([`crate::cuda::GpuMath`]).

use super::RowsWithVectors;
use crate::view::{Blocks, View, ViewMut};

/// Transposition of a factor of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transpose {
    No,
    Yes,
}

/// Products of matrices. See the conventions of [`crate::backend`].
pub trait Products: RowsWithVectors {
    /// c = alpha · op(a) · op(b) + beta · c. With beta 0, c's old contents (NaN too) are ignored.
    #[allow(clippy::too_many_arguments)]
    fn gemm(
        &self,
        c: ViewMut<'_>,
        alpha: f32,
        a: View<'_>,
        transpose_a: Transpose,
        b: View<'_>,
        transpose_b: Transpose,
        beta: f32,
    );
    /// c = alpha · op(a) · op(b) + 1 bias: adds `bias`, 1 × columns of c, to each row of the product. Ignores c's old
    /// contents, NaN too.
    #[allow(clippy::too_many_arguments)]
    fn gemm_with_bias(
        &self,
        c: ViewMut<'_>,
        alpha: f32,
        a: View<'_>,
        transpose_a: Transpose,
        b: View<'_>,
        transpose_b: Transpose,
        bias: View<'_>,
    ) {
        self.set_rows(c, bias);
        self.gemm(c, alpha, a, transpose_a, b, transpose_b, 1.0)
    }
    /// c = aᵀ a.
    fn gram(&self, c: ViewMut<'_>, a: View<'_>) {
        self.gemm(c, 1.0, a, Transpose::Yes, a, Transpose::No, 0.0);
    }
    /// As [`Products::gemm`], for several products of the same shapes; no two of `c` overlap.
    #[allow(clippy::too_many_arguments)]
    fn gemm_blocks(
        &self,
        c: Blocks<ViewMut<'_>>,
        alpha: f32,
        a: Blocks<View<'_>>,
        transpose_a: Transpose,
        b: Blocks<View<'_>>,
        transpose_b: Transpose,
        beta: f32,
    ) {
        assert!(
            c.len() == a.len() && c.len() == b.len(),
            "{}, {} and {} matrices",
            c.len(),
            a.len(),
            b.len()
        );
        for k in 0..c.len() {
            self.gemm(c.get(k), alpha, a.get(k), transpose_a, b.get(k), transpose_b, beta);
        }
    }
}
