//! Distributing weight so that from every state the same probability leaves (Hannemann and Povey, "Combining forward and
//! backward search in decoding", 2013).
//!
//! Language models with back-off do not sum up to one, and the sum over all their strings may be infinite, so ordinary
//! weight pushing does not apply to them. Here a final probability counts as an arc back to the start, and potentials of
//! states are the dominant eigenvector of the matrix of probabilities between states, by the power method.

use crate::fst::{Fst, StateId};

const MOST_ROUNDS: usize = 200;
/// After so many rounds each time, it is checked whether the states' sums are equal.
const TEST_INTERVAL: usize = 5;
/// Share of the old vector in the iteration. Without it the iteration would not converge if the arcs form a single
/// cycle.
const KEPT: f64 = 0.1;

/// Changes the costs so that the probabilities of leaving each state (ending included) sum up to the same constant, up
/// to a factor of exp(`delta`). The order of paths stays. Says whether that was reached within the rounds that are done
/// at most.
pub fn push_special(fst: &mut Fst, delta: f32) -> bool {
    let Some(start) = fst.start else { return true };
    let rows = Rows::of(fst, start);
    let mut vector = vec![1.0 / (fst.states.len() as f64).sqrt(); fst.states.len()];
    let converged = rows.iterate(&mut vector, f64::from(delta));
    let potentials: Vec<f64> = vector.iter().map(|occupancy| -occupancy.ln()).collect();
    for (s, state) in fst.states.iter_mut().enumerate() {
        for arc in &mut state.arcs {
            let change = potentials[arc.next as usize] - potentials[s];
            arc.weight = (f64::from(arc.weight) + change) as f32;
        }
        state.final_weight += (potentials[start as usize] - potentials[s]) as f32;
    }
    converged
}

/// Probabilities of going from each state to others, one after the other.
struct Rows {
    first: Vec<usize>,
    entries: Vec<(StateId, f64)>,
}

impl Rows {
    fn of(fst: &Fst, start: StateId) -> Rows {
        let mut rows =
            Rows { first: vec![0], entries: Vec::with_capacity(fst.num_arcs() + fst.states.len()) };
        for state in &fst.states {
            rows.entries.extend(state.arcs.iter().map(|arc| (arc.next, f64::from(-arc.weight).exp())));
            if state.is_final() {
                rows.entries.push((start, f64::from(-state.final_weight).exp()));
            }
            rows.first.push(rows.entries.len());
        }
        rows
    }

    /// The matrix times the vector, an element at a time.
    fn products<'a>(&'a self, vector: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.first.windows(2).map(|range| {
            let row = &self.entries[range[0]..range[1]];
            row.iter().map(|&(next, probability)| probability * vector[next as usize]).sum()
        })
    }

    fn iterate(&self, vector: &mut Vec<f64>, delta: f64) -> bool {
        let mut next = Vec::with_capacity(vector.len());
        for round in 0..MOST_ROUNDS {
            next.clear();
            next.extend(self.products(vector).zip(vector.iter()).map(|(sum, old)| sum + KEPT * old));
            let length = next.iter().map(|x| x * x).sum::<f64>().sqrt();
            next.iter_mut().for_each(|x| *x /= length);
            std::mem::swap(vector, &mut next);
            if round > 0 && round % TEST_INTERVAL == 0 && self.spread(vector) <= delta {
                return true;
            }
        }
        false
    }

    /// The logarithm of the ratio of the largest to the smallest sum over what leaves a state.
    fn spread(&self, vector: &[f64]) -> f64 {
        let sums = self.products(vector).zip(vector).map(|(sum, own)| sum / own);
        let (least, most) = sums
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), sum| (least.min(sum), most.max(sum)));
        (most / least).ln()
    }
}
