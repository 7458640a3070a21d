//! Matrix products.

use super::GpuBackend;
use crate::backend::{Products, Transpose, WholeMatrices};
use crate::cuda::engine::Engine;
use crate::cuda::op::{Op, Product};
use crate::view::{Blocks, View, ViewMut};

impl<E: Engine> Products for GpuBackend<E> {
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
    ) {
        let all = |view: View<'_>| (view.rows(), view.cols());
        let c = c.blocks(all(c.as_view()), 1, (0, 0), 1);
        let (a, b) = (a.blocks(all(a), 1, (0, 0), 1), b.blocks(all(b), 1, (0, 0), 1));
        self.gemm_blocks(c, alpha, a, transpose_a, b, transpose_b, beta)
    }
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
        let count = c.len();
        assert!(count == a.len() && count == b.len(), "{count}, {} and {} matrices", a.len(), b.len());
        let steps = [c.step, a.step, b.step].map(|step| step as u64);
        let (blocks, c, a, b) = (c, c.first(), a.first(), b.first());
        let shape =
            |m: View<'_>, t| if t == Transpose::No { (m.rows(), m.cols()) } else { (m.cols(), m.rows()) };
        let ((rows, inner), (inner_b, cols)) = (shape(a, transpose_a), shape(b, transpose_b));
        assert!(
            inner == inner_b && rows == c.rows() && cols == c.cols(),
            "product of {rows} x {inner} and {inner_b} x {cols} into {} x {}",
            c.rows(),
            c.cols()
        );
        if c.is_empty() || count == 0 {
            return;
        }
        if inner == 0 || alpha == 0.0 {
            for c in (0..count).map(|k| blocks.get(k)) {
                if beta == 0.0 { self.set(c, 0.0) } else { self.scale(c, beta) }
            }
            return;
        }
        let (c, a, b) = (self.mat(c.as_view()), self.mat(a), self.mat(b));
        let count = u32::try_from(count).expect("products below 2^32");
        let product = Product { c, alpha, a, transpose_a, b, transpose_b, beta, count, steps };
        self.queue.lock().push(Op::Product(product));
    }
}
