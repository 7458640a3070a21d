//! Functions of whole rows: softmax and its logarithm, norms of groups of columns, and their derivatives.

use super::CpuBackend;
use super::access::{Pair, Rows, RowsMut, pair, same, same_shape, split};
use super::elementwise::{Function, combine_row};
use super::halves::{by_rows, part};
use super::lanes::{exponentials, maximum, stretch, total};
use super::math;
use super::whole;
use crate::backend::RowFunctions;
use crate::view::{View, ViewMut};
use kaldi_simd::{self as simd, Kernel, Simd};

/// Largest width of rows with a log-softmax as exact as `f32` allows, by adding terms in order. Narrow rows gain little
/// from vectors, and some networks amplify a last digit (the variance of a single frame).
const NARROW: usize = 64;

fn exact_exp(x: f32) -> f32 {
    (x as f64).exp() as f32
}

fn narrow_log_softmax(row: &mut [f32], src: Option<&[f32]>) {
    if let Some(src) = src {
        row.copy_from_slice(src);
    }
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for x in &mut *row {
        *x -= max;
        sum += exact_exp(*x);
    }
    let shift = (sum as f64).ln() as f32;
    row.iter_mut().for_each(|x| *x -= shift);
}

/// e ↦ e - exp(y) · Σ e.
fn narrow_log_backward(row: &mut [f32], y: &[f32]) {
    let sum = row.iter().map(|&e| e as f64).sum::<f64>() as f32;
    for (e, &y) in row.iter_mut().zip(y) {
        *e -= sum * exact_exp(y);
    }
}

struct Forward<'a> {
    dst: RowsMut<'a>,
    /// `None`: in place.
    src: Option<Rows<'a>>,
    log: bool,
}

impl Kernel for Forward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        for i in 0..self.dst.rows() {
            let row = self.dst.row(i);
            let src = self.src.map(|src| src.row(i));
            if self.log && row.len() <= NARROW {
                narrow_log_softmax(row, src);
                continue;
            }
            let max = maximum::<S>(src.unwrap_or(row));
            if self.log {
                let shift = exponentials::<S, false>(row, src, max).ln();
                if let Some(src) = src {
                    row.copy_from_slice(src);
                }
                for x in row {
                    *x = (*x - max) - shift;
                }
            } else {
                let factor = 1.0 / exponentials::<S, true>(row, src, max);
                for x in row {
                    *x *= factor;
                }
            }
        }
    }
}

fn forward(dst: ViewMut<'_>, src: View<'_>, log: bool) {
    let (dst, src) = match pair(dst, src) {
        Pair::Same(dst) => (dst, None),
        Pair::Apart(dst, src) => (dst, Some(src)),
    };
    simd::run(Forward { dst, src, log })
}

struct Backward<'a> {
    dst: RowsMut<'a>,
    out_value: Rows<'a>,
    /// `None`: dst holds it.
    out_deriv: Option<Rows<'a>>,
    log: bool,
}

/// e ↦ e - exp(y) · sum.
#[derive(Clone, Copy)]
struct LogBackward {
    sum: f32,
}

impl Function<1> for LogBackward {
    #[inline(always)]
    fn at<S: Simd>(self, e: f32, [y]: [f32; 1]) -> f32 {
        S::fma(-self.sum, math::exp::<S>(y), e)
    }
}

impl Kernel for Backward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        for i in 0..self.dst.rows() {
            let (row, y) = (self.dst.row(i), self.out_value.row(i));
            if let Some(out_deriv) = self.out_deriv {
                row.copy_from_slice(out_deriv.row(i));
            }
            if self.log && row.len() <= NARROW {
                narrow_log_backward(row, y);
            } else if self.log {
                let sum = total::<S, 1>([row]) as f32;
                combine_row::<S, 1, _>(row, [y], LogBackward { sum });
            } else {
                let dot = total::<S, 2>([row, y]) as f32;
                combine_row::<S, 1, _>(row, [y], |e: f32, [y]: [f32; 1]| y * (e - dot));
            }
        }
    }
}

fn backward(dst: ViewMut<'_>, out_value: View<'_>, out_deriv: View<'_>, log: bool) {
    same_shape(&dst.as_view(), &out_value);
    same_shape(&dst.as_view(), &out_deriv);
    let (dst, out_value, out_deriv) = if same(&dst, &out_deriv) {
        let (dst, [out_value]) = split(dst, [out_value]);
        (dst, out_value, None)
    } else {
        let (dst, [out_value, out_deriv]) = split(dst, [out_value, out_deriv]);
        (dst, out_value, Some(out_deriv))
    };
    simd::run(Backward { dst, out_value, out_deriv, log })
}

/// Columns of `wide` for each column of `narrow`.
fn group_size(narrow: &View<'_>, wide: &View<'_>) -> usize {
    assert_eq!(narrow.rows(), wide.rows(), "rows");
    let (groups, cols) = (narrow.cols(), wide.cols());
    assert!(if groups == 0 { cols == 0 } else { cols % groups == 0 }, "{cols} columns in {groups} groups");
    cols.checked_div(groups).unwrap_or(0)
}

struct GroupNorm<'a> {
    dst: RowsMut<'a>,
    src: Rows<'a>,
    size: usize,
}

impl Kernel for GroupNorm<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        for i in 0..self.dst.rows() {
            for (norm, group) in self.dst.row(i).iter_mut().zip(self.src.row(i).chunks_exact(self.size)) {
                *norm = stretch::<S, 2>([group, group]).sqrt();
            }
        }
    }
}

impl RowFunctions for CpuBackend {
    fn softmax(&self, dst: ViewMut<'_>, src: View<'_>) {
        forward(dst, src, false)
    }
    fn log_softmax(&self, dst: ViewMut<'_>, src: View<'_>) {
        by_rows(dst, &[src], |rows| forward(dst.row_range(rows.clone()), part(src, rows), true))
    }
    fn softmax_backward(&self, dst: ViewMut<'_>, out_value: View<'_>, out_deriv: View<'_>) {
        backward(dst, out_value, out_deriv, false)
    }
    fn log_softmax_backward(&self, dst: ViewMut<'_>, out_value: View<'_>, out_deriv: View<'_>) {
        backward(dst, out_value, out_deriv, true)
    }
    fn group_norm(&self, dst: ViewMut<'_>, src: View<'_>) {
        let size = group_size(&dst.as_view(), &src);
        if size == 0 {
            return whole::set(dst, 0.0);
        }
        let (dst, [src]) = split(dst, [src]);
        simd::run(GroupNorm { dst, src, size })
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
        if size == 0 {
            return;
        }
        simd::run_plain(
            split(in_deriv, [in_value, out_value, out_deriv]),
            #[inline(always)]
            |(mut in_deriv, [in_value, out_value, out_deriv])| {
                for i in 0..in_deriv.rows() {
                    let groups =
                        in_deriv.row(i).chunks_exact_mut(size).zip(in_value.row(i).chunks_exact(size));
                    let outputs = out_value.row(i).iter().zip(out_deriv.row(i));
                    for ((to, from), (&norm, &deriv)) in groups.zip(outputs) {
                        let factor = if norm == 0.0 { 0.0 } else { deriv / norm };
                        for (d, &x) in to.iter_mut().zip(from) {
                            *d = factor * x;
                        }
                    }
                }
            },
        )
    }
}
