//! Tests if the costs are negative logarithms of probabilities.

use crate::fst::Fst;
use crate::ops::semiring::{Semiring, approximately_equal};

/// The range, over all states, of the total cost of leaving a state, including its final cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeavingCosts {
    pub least: f32,
    pub most: f32,
    /// True if all costs are 0 up to the tolerance.
    pub all_zero: bool,
}

/// Sums the costs of leaving each state.
pub fn leaving_costs(fst: &Fst, semiring: Semiring, tolerance: f32) -> LeavingCosts {
    let mut costs: Option<LeavingCosts> = None;
    for state in &fst.states {
        let arcs = state.arcs.iter().map(|arc| arc.weight);
        let sum = arcs.fold(state.final_weight, |a, b| semiring.plus(a, b));
        let all_zero = approximately_equal(0.0, sum, tolerance);
        let this = LeavingCosts { least: sum, most: sum, all_zero };
        costs = Some(costs.map_or(this, |known| LeavingCosts {
            least: known.least.min(sum),
            most: known.most.max(sum),
            all_zero: known.all_zero && all_zero,
        }));
    }
    costs.unwrap_or(LeavingCosts { least: 0.0, most: 0.0, all_zero: true })
}
