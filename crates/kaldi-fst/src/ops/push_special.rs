//! Distributes weight so that the probabilities that leave a state have the same sum for all states (Hannemann and
//! Povey, "Combining forward and backward search in decoding", 2013).
//!
//! Language models with back-off do not sum to one, and the sum over all their strings may be infinite. So ordinary
//! weight pushing does not apply to them. Here a final probability counts as an arc back to the start. Potentials of
//! states are the dominant eigenvector of the matrix of probabilities between states. The power method computes it.

use crate::fst::{Fst, StateId};

const MOST_ROUNDS: usize = 200;
/// Rounds between two tests if the sums of the states are equal.
const TEST_INTERVAL: usize = 5;
/// Share of the old vector in the iteration. Without it the iteration would not converge if the arcs form a single
/// cycle.
const KEPT: f64 = 0.1;

/// Changes the costs so that the probabilities of leaving each state (ending included) sum up to the same constant, up
/// to a factor of exp(`delta`). The order of paths stays. Says whether that was reached within the rounds that are done
/// at most.
///
/// Costs are rounded, and terms are added up, in the order of Kaldi, so that later stages round them alike.
pub fn push_special(fst: &mut Fst, delta: f32) -> bool {
    let Some(start) = fst.start else { return true };
    let arrivals = Arrivals::of(fst, start);
    let mut vector = vec![1.0 / (fst.states.len() as f64).sqrt(); fst.states.len()];
    let converged = iterate(fst, start, &arrivals, &mut vector, f64::from(delta));
    let potentials: Vec<f64> = vector.iter().map(|occupancy| -occupancy.ln()).collect();
    for (s, state) in fst.states.iter_mut().enumerate() {
        for arc in &mut state.arcs {
            arc.weight = (f64::from(arc.weight) + potentials[arc.next as usize] - potentials[s]) as f32;
        }
        state.final_weight += (potentials[start as usize] - potentials[s]) as f32;
    }
    converged
}

/// The probability of an arc or of ending, as a number of 32 bits.
fn probability(cost: f32) -> f64 {
    f64::from((-cost).exp())
}

/// For each state, one after the other, the states from which something comes to it, with the probability. Ending comes to the
/// start.
struct Arrivals {
    first: Vec<usize>,
    entries: Vec<(StateId, f64)>,
}

impl Arrivals {
    fn of(fst: &Fst, start: StateId) -> Arrivals {
        let all = || {
            fst.numbered().flat_map(move |(s, state)| {
                let arcs = state.arcs.iter().map(move |arc| (arc.next, (s, probability(arc.weight))));
                let end = state.is_final().then(|| (start, (s, probability(state.final_weight))));
                arcs.chain(end)
            })
        };
        let mut first = vec![0; fst.states.len() + 1];
        all().for_each(|(next, _)| first[next as usize + 1] += 1);
        for s in 0..fst.states.len() {
            first[s + 1] += first[s];
        }
        let mut free = first.clone();
        let mut entries = vec![(0, 0.0); first[fst.states.len()]];
        for (next, entry) in all() {
            entries[free[next as usize]] = entry;
            free[next as usize] += 1;
        }
        Arrivals { first, entries }
    }

    /// Adds the product of the matrix of probabilities and `vector`.
    fn add_product(&self, vector: &[f64], out: &mut [f64]) {
        for (range, value) in self.first.windows(2).zip(vector) {
            for &(from, probability) in &self.entries[range[0]..range[1]] {
                out[from as usize] += value * probability;
            }
        }
    }
}

fn iterate(fst: &Fst, start: StateId, arrivals: &Arrivals, vector: &mut [f64], delta: f64) -> bool {
    let mut next = Vec::with_capacity(vector.len());
    for round in 0..MOST_ROUNDS {
        next.clear();
        next.extend(vector.iter().map(|old| KEPT * old));
        arrivals.add_product(vector, &mut next);
        let scale = 1.0 / next.iter().map(|x| x * x).sum::<f64>().sqrt();
        vector.iter_mut().zip(&next).for_each(|(x, next)| *x = next * scale);
        if round > 0 && round % TEST_INTERVAL == 0 && spread(fst, start, vector) <= delta {
            return true;
        }
    }
    false
}

/// The logarithm of the ratio of the largest to the smallest sum over what leaves a state.
fn spread(fst: &Fst, start: StateId, vector: &[f64]) -> f64 {
    let sums = fst.states.iter().zip(vector).map(|(state, own)| {
        let arcs = state.arcs.iter().map(|arc| probability(arc.weight) * vector[arc.next as usize] / own);
        arcs.sum::<f64>() + probability(state.final_weight) * vector[start as usize] / own
    });
    let (least, most) =
        sums.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), sum| (least.min(sum), most.max(sum)));
    (most / least).ln()
}
