//! Products of each row with some rows of another matrix, a fixed number of rows apart.

use super::access::split;
use super::lanes::total;
use super::rows::increase;
use super::simd;
use crate::view::View;
use crate::view::ViewMut;

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

pub(super) fn banded_dots(c: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, shift: usize) {
    check(&a, &c.as_view(), &b, shift);
    simd::run_plain(
        split(c, [a, b]),
        #[inline(always)]
        |(mut c, [a, b])| {
            for i in 0..c.rows() {
                let row = a.row(i);
                for (o, out) in c.row(i).iter_mut().enumerate() {
                    *out = alpha * total([row, b.row(i + o * shift)], |[x, y]| x * y) as f32;
                }
            }
        },
    )
}

pub(super) fn banded_apply(a: ViewMut<'_>, alpha: f32, c: View<'_>, b: View<'_>, shift: usize) {
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

pub(super) fn banded_scatter(b: ViewMut<'_>, alpha: f32, c: View<'_>, a: View<'_>, shift: usize) {
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
