//! `broadcast.cu`.

use super::{GpuBackend, same_shape};
use crate::backend::{NormalizedSum, RowsWithVectors};
use crate::cuda::engine::Engine;
use crate::cuda::op::Arg;
use crate::memory::IndexTable;
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
    fn normalize_cols_and_add(
        &self,
        dst: ViewMut<'_>,
        src: View<'_>,
        mean: View<'_>,
        scale: View<'_>,
        factor: View<'_>,
        other: View<'_>,
    ) {
        let [mean, scale, factor] = [mean, scale, factor].map(Broadcast::Row);
        let args = [Broadcast::Matrix(src), mean, scale, factor, Broadcast::Matrix(other)];
        self.broadcast("normalize_cols_and_add", dst, &args)
    }
    fn normalized_sum(&self, dst: ViewMut<'_>, values: ViewMut<'_>, terms: &NormalizedSum<'_>) {
        let NormalizedSum { src, mean, scale, masks, other, factor, rows } = *terms;
        for matrix in [values.as_view(), src] {
            same_shape(&dst.as_view(), &matrix);
        }
        let (height, width) = (dst.rows(), dst.cols());
        let sizes = [mean, scale].map(|row| (row.rows(), row.cols()));
        assert_eq!(sizes, [(1, width); 2], "mean and scale of {width} columns");
        assert_eq!(other.cols(), width, "columns of the other term");
        assert!(rows.is_some() || other.rows() == height, "{other:?} for {height} rows");
        if dst.is_empty() {
            return;
        }
        let table = |table: &IndexTable, limit: usize| {
            assert_eq!(table.len(), height, "numbers for a matrix of {height} rows");
            self.indexes(table, limit, "index")
        };
        let rows = rows.map_or(0, |rows| table(rows, other.rows()));
        let mask_of = masks.map_or(0, |(masks, numbers)| {
            assert_eq!(masks.cols(), width, "columns of the masks");
            table(numbers, masks.rows())
        });
        let masks = masks.map_or(View::empty(), |(masks, _)| masks);
        let [dst, values] = [dst, values].map(|view| self.mat(view.as_view()));
        let [src, mean, scale, masks, other] = [src, mean, scale, masks, other].map(|view| self.mat(view));
        let [d, v, x, m, s, k, o] = [dst, values, src, mean, scale, masks, other].map(Arg::Mat);
        let args = [d, v, x, m, s, k, Arg::Ints(mask_of), Arg::Float(factor), o, Arg::Ints(rows)];
        self.fill("normalized_sum", dst, &args)
    }
}
