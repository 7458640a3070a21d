//! Matrix products, and `banded.cu`.

use super::{GpuBackend, line_sums};
use crate::backend::Transpose;
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch, Op, Product};
use crate::view::{Blocks, View, ViewMut};

impl<E: Engine> GpuBackend<E> {
    #[allow(clippy::too_many_arguments)]
    pub(in crate::cuda) fn multiply_matrices(
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
        self.multiply_blocks(c, alpha, a, transpose_a, b, transpose_b, beta)
    }

    #[allow(clippy::too_many_arguments)]
    pub(in crate::cuda) fn multiply_blocks(
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
                if beta == 0.0 { self.set_value(c, 0.0) } else { self.scale_values(c, beta) }
            }
            return;
        }
        let (c, a, b) = (self.mat(c.as_view()), self.mat(a), self.mat(b));
        let count = u32::try_from(count).expect("products below 2^32");
        let product = Product { c, alpha, a, transpose_a, b, transpose_b, beta, count, steps };
        self.queue.lock().push(Op::Product(product));
    }

    pub(in crate::cuda) fn dots_in_band(
        &self,
        c: ViewMut<'_>,
        alpha: f32,
        a: View<'_>,
        b: View<'_>,
        shift: usize,
    ) {
        check(&a, &c.as_view(), &b, shift);
        let c = self.mat(c.as_view());
        if c.rows == 0 {
            return;
        }
        let (a, b) = (self.mat(a), self.mat(b));
        let (grid, block) = line_sums(c.rows as u64 * c.cols as u64, a.cols);
        let args = [Arg::Mat(c), Arg::Float(alpha), Arg::Mat(a), Arg::Mat(b), Arg::Int(shift as i32)];
        self.push(Launch::new("banded_dots", grid, block, &args))
    }

    pub(in crate::cuda) fn apply_band(
        &self,
        a: ViewMut<'_>,
        alpha: f32,
        c: View<'_>,
        b: View<'_>,
        shift: usize,
    ) {
        check(&a.as_view(), &c, &b, shift);
        if c.is_empty() {
            return;
        }
        let (a, c, b) = (self.mat(a.as_view()), self.mat(c), self.mat(b));
        let args = [Arg::Mat(a), Arg::Float(alpha), Arg::Mat(c), Arg::Mat(b), Arg::Int(shift as i32)];
        self.each("banded_apply", a, &args)
    }

    pub(in crate::cuda) fn scatter_band(
        &self,
        b: ViewMut<'_>,
        alpha: f32,
        c: View<'_>,
        a: View<'_>,
        shift: usize,
    ) {
        check(&a, &c, &b.as_view(), shift);
        if c.is_empty() {
            return;
        }
        let (b, c, a) = (self.mat(b.as_view()), self.mat(c), self.mat(a));
        let args = [Arg::Mat(b), Arg::Float(alpha), Arg::Mat(c), Arg::Mat(a), Arg::Int(shift as i32)];
        self.each("banded_scatter", b, &args)
    }
}

/// a: n × k, c: n × context, b: (n + (context - 1) · shift) × k.
#[track_caller]
fn check(a: &View<'_>, c: &View<'_>, b: &View<'_>, shift: usize) {
    assert_eq!(a.rows(), c.rows(), "rows");
    assert_eq!(a.cols(), b.cols(), "columns");
    let wanted = a.rows() + c.cols().saturating_sub(1) * shift;
    assert!(b.rows() == wanted || c.is_empty(), "{} rows where {wanted} are expected", b.rows());
}
