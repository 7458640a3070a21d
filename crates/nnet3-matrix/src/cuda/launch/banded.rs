//! `banded.cu`.

use super::{GpuBackend, line_sums};
use crate::backend::BandedProducts;
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch};
use crate::view::{View, ViewMut};

/// a: n × k, c: n × context, b: (n + (context - 1) · shift) × k.
#[track_caller]
fn check(a: &View<'_>, c: &View<'_>, b: &View<'_>, shift: usize) {
    assert_eq!(a.rows(), c.rows(), "rows");
    assert_eq!(a.cols(), b.cols(), "columns");
    let wanted = a.rows() + c.cols().saturating_sub(1) * shift;
    assert!(b.rows() == wanted || c.is_empty(), "{} rows where {wanted} are expected", b.rows());
}

impl<E: Engine> BandedProducts for GpuBackend<E> {
    fn banded_dots(&self, c: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, shift: usize) {
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
    fn banded_apply(&self, a: ViewMut<'_>, alpha: f32, c: View<'_>, b: View<'_>, shift: usize) {
        check(&a.as_view(), &c, &b, shift);
        if c.is_empty() {
            return;
        }
        let (a, c, b) = (self.mat(a.as_view()), self.mat(c), self.mat(b));
        let args = [Arg::Mat(a), Arg::Float(alpha), Arg::Mat(c), Arg::Mat(b), Arg::Int(shift as i32)];
        self.each("banded_apply", a, &args)
    }
    fn banded_scatter(&self, b: ViewMut<'_>, alpha: f32, c: View<'_>, a: View<'_>, shift: usize) {
        check(&a, &c, &b.as_view(), shift);
        if c.is_empty() {
            return;
        }
        let (b, c, a) = (self.mat(b.as_view()), self.mat(c), self.mat(a));
        let args = [Arg::Mat(b), Arg::Float(alpha), Arg::Mat(c), Arg::Mat(a), Arg::Int(shift as i32)];
        self.each("banded_scatter", b, &args)
    }
}
