//! Decisions on the host.

use super::CpuBackend;
use super::access::destination;
use crate::backend::{Decision, Decisions, SumRange};
use crate::view::ViewMut;

impl Decisions for CpuBackend {
    fn decide(&self, results: ViewMut<'_>, sums: &mut [SumRange<'_>], decision: &dyn Decision) {
        assert_eq!(results.rows(), 1, "rows");
        sums.iter().for_each(SumRange::check);
        decision.on_host(destination(results).row(0), sums)
    }
}
