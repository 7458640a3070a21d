//! The host's versions of primitives that leave single numbers on a device.

use super::CpuBackend;
use super::access::{destination, source};
use crate::backend::{Averages, Band, Count, Factor, Scalars, SumRatio};
use crate::memory::Accumulator;
use crate::view::ViewMut;

impl Scalars for CpuBackend {
    fn compare_averages(&self, dst: ViewMut<'_>, averages: Averages<'_>, band: Band) {
        let Averages { sums, first, blocks, count } = averages;
        let n = dst.cols();
        assert_eq!(dst.rows(), 1, "rows");
        let count = match count {
            Count::Known(count) => count,
            Count::OneMore(counts, index) => (1.0 + counts.values()[index]) as f32 as f64,
            Count::Sum(counts, index) => match counts.values()[index] {
                count if count > 0.0 => count,
                _ => return destination(dst).row(0).fill(0.0),
            },
        };
        let sums = &sums.values_mut()[first..first + blocks * n];
        let mut dst = destination(dst);
        for (j, out) in dst.row(0).iter_mut().enumerate() {
            let sum: f64 = sums.iter().skip(j).step_by(n).sum();
            let average = sum / blocks as f64 / count;
            *out = match average {
                _ if average <= band.low => 1.0,
                _ if average > band.high => -1.0,
                _ => 0.0,
            };
        }
    }
    fn proportion_above(
        &self,
        dst: ViewMut<'_>,
        sums: &mut Accumulator,
        index: usize,
        count: f32,
        most: f32,
    ) {
        assert_eq!((dst.rows(), dst.cols()), (1, 2), "two numbers");
        let proportion = sums.values()[index] as f32 / count;
        let above = if proportion > most { 1.0 } else { 0.0 };
        destination(dst).row(0).copy_from_slice(&[proportion, above]);
    }
    fn root_of_ratio(&self, dst: ViewMut<'_>, sums: &mut Accumulator, first: usize) {
        assert_eq!((dst.rows(), dst.cols()), (1, 1), "one number");
        let [above, below] = [first, first + 1].map(|k| sums.values()[k]);
        destination(dst).row(0)[0] = if above == 0.0 { 1.0 } else { (above / below).sqrt() as f32 };
    }
    fn ratio_of_sums(&self, dst: ViewMut<'_>, ratio: SumRatio<'_>) {
        let SumRatio { factor, sums, above, below, otherwise } = ratio;
        assert_eq!((dst.rows(), dst.cols()), (1, 1), "one number");
        let factor = factor.times as f64 * source(factor.element).row(0)[0] as f64;
        let [above, below] = [above, below].map(|k| sums.values()[k]);
        let none = factor == 0.0 || below == 0.0;
        destination(dst).row(0)[0] = if none { otherwise } else { (factor * above / below) as f32 };
    }
    fn value_at_once(&self, factor: Factor<'_>) -> Option<f32> {
        Some(self.value_of(factor))
    }
}
