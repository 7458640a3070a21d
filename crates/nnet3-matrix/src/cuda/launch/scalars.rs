//! `numbers.cu`.

use super::{BLOCK, GpuBackend};
use crate::backend::{Averages, Band, Count, Factor, Scalars, SumRatio};
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch, Mat, Op};
use crate::cuda::queue::Queue;
use crate::memory::Accumulator;
use crate::view::{View, ViewMut};

/// A kernel with a thread for each of `count` sums.
pub(in crate::cuda) fn each_sum<E: Engine>(
    queue: &Queue<E>,
    kernel: &'static str,
    count: usize,
    args: &[Arg],
) {
    if count > 0 {
        let grid = [(count as u32).div_ceil(BLOCK).clamp(1, super::WIDE), 1];
        queue.lock().push(Op::Launch(Launch::new(kernel, grid, [BLOCK, 1], args)));
    }
}

impl<E: Engine> GpuBackend<E> {
    /// One of the sums, all that has been added to it included.
    #[track_caller]
    fn whole_sum_of(&self, sums: &mut Accumulator, index: usize) -> Arg {
        assert!(index < sums.len(), "sum {index} of {}", sums.len());
        Arg::Doubles(self.whole_sums_of(sums) + 8 * index as u64)
    }

    #[track_caller]
    pub(super) fn element(&self, factor: Factor<'_>) -> [Arg; 2] {
        let element: Mat = self.mat(factor.element);
        assert_eq!((element.rows, element.cols), (1, 1), "the element of a factor");
        [Arg::Float(factor.times), Arg::Mat(element)]
    }
}

impl<E: Engine> Scalars for GpuBackend<E> {
    fn compare_averages(&self, dst: ViewMut<'_>, averages: Averages<'_>, band: Band) {
        let Averages { sums, first, blocks, count } = averages;
        let (len, needed) = (sums.len(), blocks * dst.cols());
        assert!(
            dst.rows() == 1 && first <= len && needed <= len - first,
            "{needed} of {len} sums from {first}"
        );
        let address = self.whole_sums_of(sums) + 8 * first as u64;
        let dst = self.mat(dst.as_view());
        let start = [Arg::Mat(dst), Arg::Doubles(address), Arg::Int(blocks as i32)];
        let limits = [Arg::Double(band.low), Arg::Double(band.high)];
        let (counts, index, one_more) = match count {
            Count::Known(count) => {
                let args = [&start[..], &[Arg::Double(count)], &limits].concat();
                return self.each("compare_averages", dst, &args);
            }
            Count::Sum(counts, index) => (counts, index, false),
            Count::OneMore(counts, index) => (counts, index, true),
        };
        let count = [self.whole_sum_of(counts, index), Arg::Int(one_more as i32)];
        self.each("compare_averages_by_sum", dst, &[&start[..], &count, &limits].concat());
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
        let dst = Arg::Mat(self.mat(dst.as_view()));
        let args = [dst, self.whole_sum_of(sums, index), Arg::Float(count), Arg::Float(most)];
        self.push(Launch::new("proportion_above", [1, 1], [1, 1], &args));
    }
    fn root_of_ratio(&self, dst: ViewMut<'_>, sums: &mut Accumulator, first: usize) {
        assert!(first + 1 < sums.len(), "sums {first} and the next of {}", sums.len());
        assert_eq!((dst.rows(), dst.cols()), (1, 1), "one number");
        let address = self.whole_sums_of(sums) + 8 * first as u64;
        let args = [Arg::Mat(self.mat(dst.as_view())), Arg::Doubles(address)];
        self.push(Launch::new("root_of_ratio", [1, 1], [1, 1], &args));
    }
    fn ratio_of_sums(&self, dst: ViewMut<'_>, ratio: SumRatio<'_>) {
        let SumRatio { factor, sums, above, below, otherwise } = ratio;
        assert_eq!((dst.rows(), dst.cols()), (1, 1), "one number");
        let [times, element] = self.element(factor);
        let [above, below] = [above, below].map(|index| self.whole_sum_of(sums, index));
        let dst = Arg::Mat(self.mat(dst.as_view()));
        let args = [dst, times, element, above, below, Arg::Float(otherwise)];
        self.push(Launch::new("ratio_of_sums", [1, 1], [1, 1], &args));
    }
    fn scale_sums_by(&self, sums: &mut Accumulator, factor: Factor<'_>) {
        if sums.is_nothing() {
            return;
        }
        let [times, element] = self.element(factor);
        let own = Arg::Doubles(self.whole_sums_of(sums));
        let args = [own, Arg::Int(sums.len() as i32), times, element];
        each_sum(&self.queue, "scale_sums_by", sums.len(), &args);
    }
    fn add_sums_by(&self, sums: &mut Accumulator, alpha: Factor<'_>, more: &Accumulator) {
        if more.is_nothing() {
            return;
        }
        let Some(address) = more.only_on(self.id) else {
            return match self.value_of(alpha) {
                0.0 => {}
                alpha => sums.add(alpha.into(), more),
            };
        };
        if sums.is_empty() {
            *sums = Accumulator::zeros(more.len());
        }
        assert_eq!(sums.len(), more.len(), "sums");
        let [times, element] = self.element(alpha);
        let own = Arg::Doubles(self.sums_of(sums));
        let args = [own, Arg::Doubles(address), Arg::Int(sums.len() as i32), times, element];
        each_sum(&self.queue, "add_sums_by", sums.len(), &args);
    }
    fn scale_by(&self, dst: ViewMut<'_>, factor: Factor<'_>) {
        let [times, element] = self.element(factor);
        self.over("scale_by", dst, [], |d, []| vec![d, times, element])
    }
    fn add_by(&self, dst: ViewMut<'_>, alpha: Factor<'_>, src: View<'_>) {
        let [times, element] = self.element(alpha);
        self.over("add_by", dst, [src], |d, [s]| vec![d, times, element, s])
    }
}
