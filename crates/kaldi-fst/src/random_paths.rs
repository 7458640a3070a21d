//! Random paths.

use crate::fst::{Arc, Fst, StateId};

/// Choice of the next arc of a path, or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// All arcs of a state are equally probable.
    Uniform,
    /// Costs are negated logarithms of probabilities, up to a factor.
    Probability,
}

/// Returns an FST of `count` random paths without their costs. If a path has not ended after `longest` arcs, or cannot
/// continue, it ends in a state that is not final.
pub fn random_paths(fst: &Fst, count: usize, longest: usize, choice: Choice, seed: u64) -> Fst {
    let mut out = Fst::default();
    let Some(start) = fst.start else { return out };
    let first = out.add_state();
    out.start = Some(first);
    let mut random = Random(seed);
    for _ in 0..count {
        let (mut from, mut to) = (start, first);
        for _ in 0..=longest {
            match random.step(fst, from, choice) {
                Step::Stuck => break,
                Step::End => {
                    out.state_mut(to).final_weight = 0.0;
                    break;
                }
                Step::Arc(arc) => {
                    let next = out.add_state();
                    out.state_mut(to).arcs.push(Arc { weight: 0.0, next, ..arc });
                    (from, to) = (arc.next, next);
                }
            }
        }
    }
    out
}

enum Step {
    Arc(Arc),
    End,
    Stuck,
}

/// SplitMix64.
struct Random(u64);

impl Random {
    /// In [0, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn step(&mut self, fst: &Fst, state: StateId, choice: Choice) -> Step {
        let data = fst.state(state);
        let share = |cost: f32| match choice {
            Choice::Uniform => 1.0,
            Choice::Probability => f64::from(-cost).exp(),
        };
        let end = if data.is_final() { share(data.final_weight) } else { 0.0 };
        let total: f64 = data.arcs.iter().map(|arc| share(arc.weight)).sum::<f64>() + end;
        if total == 0.0 {
            return Step::Stuck;
        }
        let mut left = self.next() * total;
        for arc in &data.arcs {
            left -= share(arc.weight);
            if left < 0.0 {
                return Step::Arc(*arc);
            }
        }
        match data.arcs.last() {
            Some(arc) if end == 0.0 => Step::Arc(*arc),
            _ => Step::End,
        }
    }
}
