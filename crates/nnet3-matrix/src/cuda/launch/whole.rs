//! Whole matrices: `elementwise.cu`, `transpose.cu`.

use super::{GpuBackend, same_shape};
use crate::backend::WholeMatrices;
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch};
use crate::view::{View, ViewMut};

/// Side of the squares of `transpose.cu`, and rows of its blocks.
const SIDE: u32 = 32;
const SQUARE_ROWS: u32 = 8;

impl<E: Engine> WholeMatrices for GpuBackend<E> {
    fn set(&self, dst: ViewMut<'_>, value: f32) {
        self.over("set_value", dst, [], |d, []| vec![d, Arg::Float(value)])
    }
    fn copy(&self, dst: ViewMut<'_>, src: View<'_>) {
        same_shape(&dst.as_view(), &src);
        if !dst.same_start(&src) {
            self.unary("copy_values", dst, src)
        }
    }
    fn scale(&self, dst: ViewMut<'_>, factor: f32) {
        self.over("scale_values", dst, [], |d, []| vec![d, Arg::Float(factor)])
    }
    fn add(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>) {
        self.scaled("add_values", dst, alpha, src)
    }
    fn copy_scaled(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>) {
        self.scaled("copy_scaled", dst, alpha, src)
    }
    fn copy_transposed(&self, dst: ViewMut<'_>, src: View<'_>) {
        assert!(
            dst.rows() == src.cols() && dst.cols() == src.rows(),
            "{dst:?} from the transpose of {src:?}"
        );
        let (d, s) = (self.mat(dst.as_view()), self.mat(src));
        if s.rows > 0 {
            let grid = [s.cols.div_ceil(SIDE).min(super::WIDE), s.rows.div_ceil(SIDE).min(super::HIGH)];
            self.push(Launch::new("copy_transposed", grid, [SIDE, SQUARE_ROWS], &[Arg::Mat(d), Arg::Mat(s)]));
        }
    }
}
