//! `softmax.cu` and `norm.cu`.

use super::{BLOCK, GpuBackend, line_sums, same_shape};
use crate::backend::{RowFunctions, WholeMatrices};
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch};
use crate::view::{View, ViewMut};

/// `NARROW` of `softmax.cu`.
const NARROW: u32 = 64;

impl<E: Engine> GpuBackend<E> {
    fn softmax_of(&self, dst: ViewMut<'_>, src: View<'_>, take_log: bool) {
        same_shape(&dst.as_view(), &src);
        let (d, s) = (self.mat(dst.as_view()), self.mat(src));
        if take_log && d.rows > 0 && d.cols <= NARROW {
            let grid = [d.rows.div_ceil(BLOCK), 1];
            self.push(Launch::new("narrow_log_softmax", grid, [BLOCK, 1], &[Arg::Mat(d), Arg::Mat(s)]))
        } else if d.rows > 0 {
            let (grid, block) = line_sums(d.rows as u64, d.cols);
            let args = [Arg::Mat(d), Arg::Mat(s), Arg::Int(take_log as i32)];
            self.push(Launch::new("softmax", grid, block, &args))
        }
    }

    fn softmax_backward_of(
        &self,
        dst: ViewMut<'_>,
        out_value: View<'_>,
        out_deriv: View<'_>,
        take_log: bool,
    ) {
        same_shape(&dst.as_view(), &out_value);
        same_shape(&dst.as_view(), &out_deriv);
        let d = self.mat(dst.as_view());
        if d.rows > 0 {
            let (grid, block) = line_sums(d.rows as u64, d.cols);
            let [y, e] = [out_value, out_deriv].map(|view| Arg::Mat(self.mat(view)));
            let args = [Arg::Mat(d), y, e, Arg::Int(take_log as i32)];
            self.push(Launch::new("softmax_backward", grid, block, &args))
        }
    }
}

/// Columns of `wide` for each column of `narrow`.
#[track_caller]
fn group_size(narrow: &View<'_>, wide: &View<'_>) -> u32 {
    assert_eq!(narrow.rows(), wide.rows(), "rows");
    let (groups, cols) = (narrow.cols(), wide.cols());
    assert!(if groups == 0 { cols == 0 } else { cols % groups == 0 }, "{cols} columns in {groups} groups");
    cols.checked_div(groups).unwrap_or(0) as u32
}

impl<E: Engine> RowFunctions for GpuBackend<E> {
    fn softmax(&self, dst: ViewMut<'_>, src: View<'_>) {
        self.softmax_of(dst, src, false)
    }
    fn log_softmax(&self, dst: ViewMut<'_>, src: View<'_>) {
        self.softmax_of(dst, src, true)
    }
    fn softmax_backward(&self, dst: ViewMut<'_>, out_value: View<'_>, out_deriv: View<'_>) {
        self.softmax_backward_of(dst, out_value, out_deriv, false)
    }
    fn log_softmax_backward(&self, dst: ViewMut<'_>, out_value: View<'_>, out_deriv: View<'_>) {
        self.softmax_backward_of(dst, out_value, out_deriv, true)
    }
    fn group_norm(&self, dst: ViewMut<'_>, src: View<'_>) {
        let size = group_size(&dst.as_view(), &src);
        if size == 0 {
            return self.set(dst, 0.0);
        }
        let (d, s) = (self.mat(dst.as_view()), self.mat(src));
        if d.rows > 0 {
            let (grid, block) = line_sums(d.rows as u64 * d.cols as u64, size);
            self.push(Launch::new(
                "group_norm",
                grid,
                block,
                &[Arg::Mat(d), Arg::Mat(s), Arg::Int(size as i32)],
            ))
        }
    }
    fn group_norm_backward(
        &self,
        in_deriv: ViewMut<'_>,
        in_value: View<'_>,
        out_value: View<'_>,
        out_deriv: View<'_>,
    ) {
        same_shape(&in_deriv.as_view(), &in_value);
        same_shape(&out_value, &out_deriv);
        let size = group_size(&out_value, &in_value);
        let d = self.mat(in_deriv.as_view());
        let [x, y, e] = [in_value, out_value, out_deriv].map(|view| Arg::Mat(self.mat(view)));
        self.fill("group_norm_backward", d, &[Arg::Mat(d), x, y, e, Arg::Int(size as i32)])
    }
}
