//! Decisions: numbers computed from sums by a rule of the caller, such as a limit on changes or a constraint.
//!
//! The caller gives the rule as a [`Decision`]: a function for the host, and the equivalent kernel for sums that stay
//! on a device. So the host need not wait for the sums, and no rule is part of this crate's interface.

use crate::memory::Accumulator;
use crate::view::ViewMut;

/// Some sums of an accumulator, from `first` on.
pub struct SumRange<'s> {
    pub sums: &'s mut Accumulator,
    pub first: usize,
    pub count: usize,
}

impl SumRange<'_> {
    /// All sums of the accumulator.
    pub fn all(sums: &mut Accumulator) -> SumRange<'_> {
        let count = sums.len();
        SumRange { sums, first: 0, count }
    }

    /// The sums, on the host.
    pub fn values(&mut self) -> &[f64] {
        &self.sums.values_mut()[self.first..self.first + self.count]
    }

    #[track_caller]
    pub(crate) fn check(&self) {
        let (first, count, len) = (self.first, self.count, self.sums.len());
        assert!(first <= len && count <= len - first, "{count} of {len} sums from {first}");
    }
}

/// A constant among the arguments of a decision's kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    Int(i32),
    Double(f64),
}

/// A rule that makes numbers of sums.
pub trait Decision {
    /// Sets the results, on the host.
    fn on_host(&self, results: &mut [f32], sums: &mut [SumRange<'_>]);
    /// The kernel that does so in one thread, by its name in `kernels/`. Its arguments are the matrix of results, a
    /// pointer to each range of sums, and these constants.
    fn kernel(&self) -> (&'static str, Vec<Constant>);
}

/// Decisions of callers, on the device. See the conventions of [`crate::backend`].
pub trait Decisions {
    /// Sets `results`, a row, to the decision's numbers for the sums.
    fn decide(&self, results: ViewMut<'_>, sums: &mut [SumRange<'_>], decision: &dyn Decision);
}
