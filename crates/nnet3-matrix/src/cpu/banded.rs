//! Products of each row with some rows of another matrix, a fixed number of rows apart.

use super::CpuBackend;
use super::access::{Rows, RowsMut, split};
use super::lanes::stretch;
use super::rows::increase;
use crate::backend::BandedProducts;
use crate::view::View;
use crate::view::ViewMut;
use kaldi_simd::{self as simd, Kernel, Simd};

/// a: n × k, c: n × context, b: (n + (context - 1) · shift) × k.
#[track_caller]
fn check(a: &View<'_>, c: &View<'_>, b: &View<'_>, shift: usize) {
    assert_eq!(a.rows(), c.rows(), "rows");
    assert_eq!(a.cols(), b.cols(), "columns");
    let wanted = a.rows() + c.cols().saturating_sub(1) * shift;
    assert!(
        b.rows() == wanted || c.is_empty(),
        "{} rows for {} positions of {} rows, {shift} apart",
        b.rows(),
        c.cols(),
        a.rows()
    );
}

struct Dots<'a> {
    c: RowsMut<'a>,
    alpha: f32,
    a: Rows<'a>,
    b: Rows<'a>,
    shift: usize,
}

impl Kernel for Dots<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        for i in 0..self.c.rows() {
            let row = self.a.row(i);
            for (o, out) in self.c.row(i).iter_mut().enumerate() {
                *out = self.alpha * stretch::<S, 2>([row, self.b.row(i + o * self.shift)]);
            }
        }
    }
}

impl BandedProducts for CpuBackend {
    fn banded_dots(&self, c: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, shift: usize) {
        check(&a, &c.as_view(), &b, shift);
        let (c, [a, b]) = split(c, [a, b]);
        simd::run(Dots { c, alpha, a, b, shift })
    }
    fn banded_apply(&self, a: ViewMut<'_>, alpha: f32, c: View<'_>, b: View<'_>, shift: usize) {
        check(&a.as_view(), &c, &b, shift);
        simd::run_plain(
            split(a, [c, b]),
            #[inline(always)]
            |(mut a, [c, b])| {
                for i in 0..a.rows() {
                    let to = a.row(i);
                    for (o, &factor) in c.row(i).iter().enumerate() {
                        increase(to, alpha * factor, b.row(i + o * shift));
                    }
                }
            },
        )
    }
    fn banded_scatter(&self, b: ViewMut<'_>, alpha: f32, c: View<'_>, a: View<'_>, shift: usize) {
        check(&a, &c, &b.as_view(), shift);
        simd::run_plain(
            split(b, [c, a]),
            #[inline(always)]
            |(mut b, [c, a])| {
                for i in 0..a.rows() {
                    let from = a.row(i);
                    for (o, &factor) in c.row(i).iter().enumerate() {
                        increase(b.row(i + o * shift), alpha * factor, from);
                    }
                }
            },
        )
    }
}
