//! Numbers that stay on the device: computed from sums in an [`Accumulator`], and used as factors and for decisions.
//! The host does not wait for them.

use super::storage::Storage;
use super::whole::WholeMatrices;
use crate::memory::Accumulator;
use crate::view::{View, ViewMut};

/// A number on a device: `times` · the single element of a view.
#[derive(Clone, Copy, Debug)]
pub struct Factor<'a> {
    pub times: f32,
    /// 1 × 1.
    pub element: View<'a>,
}

/// Thresholds for averages that are too small or too large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Averages up to this are too small.
    pub low: f64,
    /// Averages above this are too large, unless they are too small.
    pub high: f64,
}

/// Divisor that turns sums into averages.
#[derive(Debug)]
pub enum Count<'a> {
    /// A number that the host knows.
    Known(f64),
    /// The sum at this index. If it is not above 0, every average counts as acceptable.
    Sum(&'a mut Accumulator, usize),
    /// 1 + the sum of this index, rounded to `f32`.
    OneMore(&'a mut Accumulator, usize),
}

/// n averages of sums: number j is the mean of sums\[first + j + k · n\] over k < `blocks`, divided by `count`.
#[derive(Debug)]
pub struct Averages<'a> {
    pub sums: &'a mut Accumulator,
    pub first: usize,
    pub blocks: usize,
    pub count: Count<'a>,
}

/// factor · sums\[above\] / sums\[below\], or `otherwise` if the factor or sums\[below\] is 0.
#[derive(Debug)]
pub struct SumRatio<'a> {
    pub factor: Factor<'a>,
    pub sums: &'a mut Accumulator,
    pub above: usize,
    pub below: usize,
    pub otherwise: f32,
}

/// Numbers that a device computes from its sums. See the conventions of [`crate::backend`].
pub trait Scalars: Storage + WholeMatrices {
    /// dst\[j\] = +1 if average number j is too small, -1 if it is too large, else 0. `dst` is 1 × n.
    fn compare_averages(&self, dst: ViewMut<'_>, averages: Averages<'_>, band: Band);
    /// dst = (p, 1) if the proportion p = sums\[index\] / `count`, in `f32`, is above `most`, else (p, 0); `dst` is 1 × 2.
    fn proportion_above(&self, dst: ViewMut<'_>, sums: &mut Accumulator, index: usize, count: f32, most: f32);
    /// dst = √(sums\[first\] / sums\[first + 1\]), or 1 if the first of them is 0; `dst` is 1 × 1.
    fn root_of_ratio(&self, dst: ViewMut<'_>, sums: &mut Accumulator, first: usize);
    /// dst = the ratio, computed in `f64`; `dst` is 1 × 1.
    fn ratio_of_sums(&self, dst: ViewMut<'_>, ratio: SumRatio<'_>);
    /// sums *= factor; 0 sets to exactly zero.
    fn scale_sums_by(&self, sums: &mut Accumulator, factor: Factor<'_>) {
        sums.scale(self.value_of(factor).into())
    }
    /// As [`Accumulator::add`]; no effect if alpha is 0.
    fn add_sums_by(&self, sums: &mut Accumulator, alpha: Factor<'_>, more: &Accumulator) {
        match self.value_of(alpha) {
            0.0 => {}
            alpha => sums.add(alpha.into(), more),
        }
    }
    /// dst *= factor; 0 sets to exactly zero.
    fn scale_by(&self, dst: ViewMut<'_>, factor: Factor<'_>) {
        match self.value_of(factor) {
            0.0 => self.set(dst, 0.0),
            1.0 => {}
            factor => self.scale(dst, factor),
        }
    }
    /// dst += alpha · src; no effect if alpha is 0.
    fn add_by(&self, dst: ViewMut<'_>, alpha: Factor<'_>, src: View<'_>) {
        match self.value_of(alpha) {
            0.0 => {}
            alpha => self.add(dst, alpha, src),
        }
    }
    /// The number, if reading it does not wait: on the host.
    fn value_at_once(&self, factor: Factor<'_>) -> Option<f32> {
        let _ = factor;
        None
    }
    /// The number, read from the device: waits for all work before.
    fn value_of(&self, factor: Factor<'_>) -> f32 {
        let mut element = [0.0];
        self.download_into(factor.element, &mut element);
        factor.times * element[0]
    }
}
