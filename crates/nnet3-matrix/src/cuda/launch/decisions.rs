//! Launches of decisions; their kernels are in `numbers.cu`.

use super::GpuBackend;
use crate::backend::{Constant, Decision, Decisions, SumRange};
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch};
use crate::view::ViewMut;

impl<E: Engine> Decisions for GpuBackend<E> {
    fn decide(&self, results: ViewMut<'_>, sums: &mut [SumRange<'_>], decision: &dyn Decision) {
        assert_eq!(results.rows(), 1, "rows");
        let (kernel, constants) = decision.kernel();
        let mut args = vec![Arg::Mat(self.mat(results.as_view()))];
        for range in sums {
            range.check();
            args.push(Arg::Doubles(self.whole_sums_of(range.sums) + 8 * range.first as u64));
        }
        args.extend(constants.into_iter().map(|constant| match constant {
            Constant::Int(number) => Arg::Int(number),
            Constant::Double(number) => Arg::Double(number),
        }));
        self.push(Launch::new(kernel, [1, 1], [1, 1], &args));
    }
}
