//! The rule that selects the hypotheses of a frame.

use super::options::Pruning;

/// A cost, `f32` in the search for lattices and `f64` in that for one path.
pub(super) trait Cost: Copy + PartialOrd {
    const INFINITE: Self;
    fn from_f32(value: f32) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    /// Rounds to single precision. The reference keeps beams, and the costs that it sorts, in that.
    fn rounded(self) -> Self;
    fn order(&self, other: &Self) -> std::cmp::Ordering;
}

macro_rules! cost {
    ($($float:ty),*) => {$(
        impl Cost for $float {
            const INFINITE: Self = <$float>::INFINITY;
            fn from_f32(value: f32) -> Self {
                value.into()
            }
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn minus(self, other: Self) -> Self {
                self - other
            }
            fn rounded(self) -> Self {
                (self as f32).into()
            }
            fn order(&self, other: &Self) -> std::cmp::Ordering {
                self.total_cmp(other)
            }
        }
    )*};
}
cost!(f32, f64);

pub(super) struct Cutoff<C> {
    /// Hypotheses of a higher cost are dropped.
    pub cost: C,
    /// Beam above the best cost of the next frame.
    pub adaptive_beam: C,
    /// The position of the best hypothesis.
    pub best: Option<usize>,
}

impl Pruning {
    /// The cutoff for hypotheses with these costs. They get another order.
    pub(super) fn cutoff<C: Cost>(&self, costs: &mut [C]) -> Cutoff<C> {
        let (mut best_cost, mut best) = (C::INFINITE, None);
        for (position, &cost) in costs.iter().enumerate() {
            if cost < best_cost {
                (best_cost, best) = (cost, Some(position));
            }
        }
        let beam = C::from_f32(self.beam);
        let beam_cutoff = best_cost.plus(beam);
        let by_count = |cost: C| Cutoff {
            cost,
            adaptive_beam: cost.minus(best_cost).plus(C::from_f32(self.beam_delta)).rounded(),
            best,
        };
        // The cost of a rank is looked for only if it decides, since that takes longer than counting.
        let below = |cost: C| cost.rounded() < beam_cutoff;
        if costs.len() > self.max_active && count(costs, below) > self.max_active {
            return by_count(of_rank(costs, self.max_active));
        }
        let least = self.min_active;
        if least > 0 && best.is_some() && count(costs, |cost| cost.rounded() <= beam_cutoff) <= least {
            return by_count(if costs.len() > least { of_rank(costs, least) } else { C::INFINITE });
        }
        Cutoff { cost: beam_cutoff, adaptive_beam: beam, best }
    }
}

fn count<C: Cost>(costs: &[C], counted: impl Fn(C) -> bool) -> usize {
    costs.iter().filter(|&&cost| counted(cost)).count()
}

/// The cost of a rank from 0, rounded.
fn of_rank<C: Cost>(costs: &mut [C], rank: usize) -> C {
    costs.select_nth_unstable_by(rank, C::order).1.rounded()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beam_or_numbers() {
        let costs = [3.0f32, 1.0, 9.0, 5.0, 2.0];
        let cutoff = |beam, max_active, min_active| {
            let pruning = Pruning { beam, max_active, min_active, ..Pruning::lattice() };
            let Cutoff { cost, adaptive_beam, best } = pruning.cutoff(&mut costs.to_vec());
            assert_eq!(best, Some(1));
            (cost, adaptive_beam)
        };
        assert_eq!(cutoff(3.0, 100, 0), (4.0, 3.0));
        // The costs of the ranks 2 and 3.
        assert_eq!(cutoff(3.0, 2, 0), (3.0, 2.5));
        assert_eq!(cutoff(3.0, 100, 3), (5.0, 4.5));
        assert_eq!(cutoff(3.0, 100, 2), (4.0, 3.0));
        // So few hypotheses are all followed.
        assert_eq!(cutoff(3.0, 100, 5), (f32::INFINITY, f32::INFINITY));
    }

    /// The reference sorts costs in single precision. A cutoff that is rounded up lets equal costs pass.
    #[test]
    fn costs_of_ranks_are_rounded() {
        let cost = 54.630_041_942_000_39;
        let pruning = Pruning { beam: 10.0, min_active: 1, ..Pruning::lattice() };
        let cutoff = pruning.cutoff(&mut [cost, 30.5, cost]);
        assert_eq!(cutoff.cost, f64::from(54.630_043_f32));
        assert!(cost < cutoff.cost);
        assert_eq!(cutoff.adaptive_beam, f64::from(24.630_043_f32));
    }
}
