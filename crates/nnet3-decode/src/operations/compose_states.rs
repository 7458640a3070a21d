//! Composition of a lattice with a language model whose states are made when they are met (`ComposeCompactLatticeDeterministic`).

use kaldi_fst::state_table::{Expanded, unfold};
use kaldi_fst::{Algebra, EPSILON, StateId, ops};

use crate::lattice::CompactLattice;
use crate::lm::deterministic::DeterministicLm;
use crate::weight::CompactLatticeWeight;

/// Adds the costs of a language model to the graph costs of a lattice. Pairs of states are visited in the order in which they are
/// found, and arcs of a state in the order of their words. So the model sees the histories that lead to one of its states in this
/// order. The result is empty if the model accepts nothing of the lattice.
pub fn compose_states(lattice: &CompactLattice, lm: &mut impl DeterministicLm) -> CompactLattice {
    let Some(start) = lattice.start else { return CompactLattice::default() };
    type Pair = (StateId, StateId);
    let start = (start, lm.start());
    let mut out = unfold(start, |(state, lm_state): Pair, out: &mut Expanded<_, CompactLatticeWeight>| {
        let state = lattice.state(state);
        let mut end = CompactLatticeWeight::zero();
        if state.is_final() {
            let cost = lm.final_cost(lm_state);
            if cost < f32::INFINITY {
                end = state.final_weight.clone();
                end.weight.graph += cost;
            }
        }
        let mut arcs: Vec<_> = state.arcs.iter().collect();
        arcs.sort_by_key(|arc| arc.ilabel);
        for arc in arcs {
            let (cost, lm_state) = match arc.ilabel {
                EPSILON => (0.0, lm_state),
                word => match lm.arc(lm_state, word) {
                    Some(found) => found,
                    None => continue,
                },
            };
            let mut weight = arc.weight.clone();
            weight.weight.graph += cost;
            out.add((arc.ilabel, arc.ilabel), weight, (arc.next, lm_state));
        }
        end
    });
    ops::connect(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weight::LatticeWeight;
    use kaldi_fst::Arc;

    /// A model whose states are the words so far, and whose costs are the sums of these.
    struct Words(Vec<Vec<i32>>);

    impl DeterministicLm for Words {
        fn start(&mut self) -> StateId {
            0
        }
        fn arc(&mut self, state: StateId, word: i32) -> Option<(f32, StateId)> {
            if word == 9 {
                return None;
            }
            let words = [&self.0[state as usize][..], &[word]].concat();
            let cost = words.iter().sum::<i32>() as f32;
            let known = self.0.iter().position(|known| *known == words);
            let next = known.unwrap_or_else(|| {
                self.0.push(words);
                self.0.len() - 1
            });
            Some((cost, next as StateId))
        }
        fn final_cost(&mut self, state: StateId) -> f32 {
            if self.0[state as usize].len() == 1 { f32::INFINITY } else { 0.5 }
        }
    }

    fn weight(graph: f32, string: &[i32]) -> CompactLatticeWeight {
        CompactLatticeWeight { weight: LatticeWeight::new(graph, 0.0), string: string.to_vec() }
    }

    /// By hand: 0 -2-> 1 -3-> 2, 0 -1-> 1, 1 -ε-> 2, 0 -9-> 2. Words 9 and single words are not accepted.
    #[test]
    fn costs_and_order() {
        let mut lattice = CompactLattice::default();
        (0..3).for_each(|_| _ = lattice.add_state());
        lattice.start = Some(0);
        lattice.state_mut(0).arcs = vec![
            Arc::new(2, weight(0.25, &[7]), 1),
            Arc::new(1, weight(0.0, &[8]), 1),
            Arc::new(9, weight(0.0, &[8]), 2),
        ];
        lattice.state_mut(1).arcs =
            vec![Arc::new(3, weight(1.0, &[]), 2), Arc::new(EPSILON, weight(0.0, &[5]), 2)];
        lattice.state_mut(2).final_weight = weight(0.0, &[6]);
        let mut lm = Words(vec![vec![]]);
        let out = compose_states(&lattice, &mut lm);
        assert_eq!(lm.0, [vec![], vec![1], vec![2], vec![1, 3], vec![2, 3]], "words in order");
        let arcs = |s: StateId| -> Vec<(i32, f32)> {
            out.state(s).arcs.iter().map(|arc| (arc.ilabel, arc.weight.weight.graph)).collect()
        };
        let start = out.start.unwrap();
        assert_eq!(arcs(start), [(1, 1.0), (2, 2.25)]);
        for (arc, cost) in out.state(start).arcs.iter().zip([5.0, 6.0]) {
            assert_eq!(arcs(arc.next), [(3, cost)]);
            let end = out.state(out.state(arc.next).arcs[0].next);
            assert_eq!(end.final_weight, weight(0.5, &[6]));
        }
    }
}
