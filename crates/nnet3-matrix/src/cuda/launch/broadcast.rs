//! `broadcast.cu`.

use super::GpuBackend;
use crate::backend::{NormalizedPlus, RowsWithVectors};
use crate::cuda::engine::Engine;
use crate::cuda::op::Arg;
use crate::view::{View, ViewMut};

/// An argument of a kernel of `broadcast.cu`.
enum Broadcast<'a> {
    Factor(f32),
    Row(View<'a>),
    Col(View<'a>),
    Matrix(View<'a>),
}

impl<E: Engine> GpuBackend<E> {
    /// A kernel over elements of dst, with 1 × cols vectors or rows × 1 ones, and matrices of dst's shape.
    #[track_caller]
    fn broadcast(&self, kernel: &'static str, dst: ViewMut<'_>, args: &[Broadcast<'_>]) {
        let d = self.mat(dst.as_view());
        let mut list = vec![Arg::Mat(d)];
        for arg in args {
            let (view, shape) = match *arg {
                Broadcast::Factor(x) => {
                    list.push(Arg::Float(x));
                    continue;
                }
                Broadcast::Row(row) => (row, (1, dst.cols())),
                Broadcast::Col(col) => (col, (dst.rows(), 1)),
                Broadcast::Matrix(m) => (m, (dst.rows(), dst.cols())),
            };
            assert!(
                (view.rows(), view.cols()) == shape,
                "{view:?} where {} x {} is expected",
                shape.0,
                shape.1
            );
            list.push(Arg::Mat(self.mat(view)));
        }
        self.fill(kernel, d, &list)
    }
}

impl<E: Engine> RowsWithVectors for GpuBackend<E> {
    fn set_rows(&self, dst: ViewMut<'_>, row: View<'_>) {
        self.broadcast("set_rows", dst, &[Broadcast::Row(row)])
    }
    fn add_to_rows(&self, dst: ViewMut<'_>, alpha: f32, row: View<'_>) {
        self.broadcast("add_to_rows", dst, &[Broadcast::Factor(alpha), Broadcast::Row(row)])
    }
    fn scale_cols(&self, dst: ViewMut<'_>, row: View<'_>) {
        self.broadcast("scale_cols", dst, &[Broadcast::Row(row)])
    }
    fn scale_rows(&self, dst: ViewMut<'_>, col: View<'_>) {
        self.broadcast("scale_rows", dst, &[Broadcast::Col(col)])
    }
    fn add_scaled_rows(&self, dst: ViewMut<'_>, alpha: f32, col: View<'_>, src: View<'_>) {
        let args = [Broadcast::Factor(alpha), Broadcast::Col(col), Broadcast::Matrix(src)];
        self.broadcast("add_scaled_rows", dst, &args)
    }
    fn add_scaled_cols(&self, dst: ViewMut<'_>, alpha: f32, row: View<'_>, src: View<'_>) {
        let args = [Broadcast::Factor(alpha), Broadcast::Row(row), Broadcast::Matrix(src)];
        self.broadcast("add_scaled_cols", dst, &args)
    }
    fn affine_cols(&self, dst: ViewMut<'_>, src: View<'_>, scale: View<'_>, offset: View<'_>) {
        let args = [Broadcast::Matrix(src), Broadcast::Row(scale), Broadcast::Row(offset)];
        self.broadcast("affine_cols", dst, &args)
    }
    fn normalize_cols(&self, dst: ViewMut<'_>, src: View<'_>, mean: View<'_>, scale: View<'_>) {
        let args = [Broadcast::Matrix(src), Broadcast::Row(mean), Broadcast::Row(scale)];
        self.broadcast("normalize_cols", dst, &args)
    }
    fn normalize_cols_and_add(&self, dst: ViewMut<'_>, terms: NormalizedPlus<'_>) {
        let NormalizedPlus { src, mean, scale, factor, other } = terms;
        let [mean, scale, factor] = [mean, scale, factor].map(Broadcast::Row);
        let args = [Broadcast::Matrix(src), mean, scale, factor, Broadcast::Matrix(other)];
        self.broadcast("normalize_cols_and_add", dst, &args)
    }
}
