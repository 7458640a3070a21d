//! Removing arcs without labels.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::error::{Error, Result};
use crate::fst::{Arc, Fst, StateId};
use crate::ops::components::Components;
use crate::ops::connect::connect;
use crate::ops::order::filtered_order;
use crate::weight::Algebra;

/// Rounds through a state of a cycle, after which the cost of all of them is taken for infinite.
const MOST_ROUNDS: usize = 10_000;

/// Replaces arcs without labels by the arcs that follow them, and removes unused states.
///
/// Arcs without labels may form cycles if the cost of all ways around these is known: it is an error if a cycle has a negative
/// cost, or in the log semiring a probability of 1 or more.
///
/// States keep their order, and the arcs of a state have the same order as with OpenFst's `RmEpsilon`. So merged
/// supervision is the same as that of other programs, byte for byte.
pub fn remove_epsilons<W: Algebra>(fst: &mut Fst<W>) -> Result<()> {
    remove_epsilon_arcs(fst)?;
    connect(fst);
    Ok(())
}

/// Does the same as [`remove_epsilons`], but keeps states that no path uses. States that were reached without a label only lose
/// their arcs.
pub fn remove_epsilon_arcs<W: Algebra>(fst: &mut Fst<W>) -> Result<()> {
    let Some(start) = fst.start else { return Ok(()) };
    // Positions of states in an order in which arcs without labels lead forwards, and of cycles in that order.
    let (order, ranks) = match filtered_order(fst, Arc::is_epsilon) {
        Ok(order) => {
            let mut ranks = vec![0; fst.states.len()];
            order.iter().enumerate().for_each(|(rank, &state)| ranks[state as usize] = rank);
            (order, ranks)
        }
        Err(_) => order_of_cycles(fst),
    };
    // States that are entered with a label; the others are only passed through.
    let mut entered = vec![false; fst.states.len()];
    entered[start as usize] = true;
    for arc in fst.states.iter().flat_map(|state| &state.arcs).filter(|arc| !arc.is_epsilon()) {
        entered[arc.next as usize] = true;
    }
    let mut expansion = Expansion { distance: HashMap::new(), known: HashMap::new(), arcs: Vec::new() };
    for &state in order.iter().rev().filter(|&&state| entered[state as usize]) {
        expansion.expand(fst, &ranks, state)?;
    }
    for (state, _) in fst.states.iter_mut().zip(entered).filter(|(_, entered)| !entered) {
        state.arcs.clear();
    }
    Ok(())
}

/// States on a cycle of arcs without labels have the same position. Of these the first one comes last in the order.
fn order_of_cycles<W: Algebra>(fst: &Fst<W>) -> (Vec<StateId>, Vec<usize>) {
    let mut filtered = fst.clone();
    filtered.states.iter_mut().for_each(|state| state.arcs.retain(Arc::is_epsilon));
    let components = Components::of(&filtered).number;
    // (Arcs between components lead to lower numbers.)
    let last = components.iter().max().copied().unwrap_or(0);
    let ranks: Vec<usize> = components.iter().map(|&number| (last - number) as usize).collect();
    let mut order: Vec<StateId> = (0..fst.states.len() as StateId).collect();
    order.sort_by_key(|&state| (ranks[state as usize], Reverse(state)));
    (order, ranks)
}

/// The states and arcs that are reached from one state by arcs without labels.
struct Expansion<W> {
    /// Costs of the states reached, from the state that is expanded.
    distance: HashMap<StateId, W>,
    /// Positions of arcs by labels and destination.
    known: HashMap<(i32, i32, StateId), usize>,
    arcs: Vec<Arc<W>>,
}

impl<W: Algebra> Expansion<W> {
    fn expand(&mut self, fst: &mut Fst<W>, ranks: &[usize], state: StateId) -> Result<()> {
        self.measure(fst, ranks, state)?;
        self.known.clear();
        self.arcs.clear();
        let mut final_weight = W::zero();
        let mut waiting = vec![state];
        while let Some(from) = waiting.pop() {
            // Each state is passed once: its distance is taken.
            let Some(distance) = self.distance.remove(&from) else { continue };
            let data = fst.state(from);
            for arc in &data.arcs {
                if arc.is_epsilon() {
                    waiting.push(arc.next);
                } else {
                    self.add(Arc { weight: distance.times(&arc.weight), ..arc.clone() });
                }
            }
            final_weight = final_weight.plus(&distance.times(&data.final_weight));
        }
        let data = fst.state_mut(state);
        data.final_weight = final_weight;
        data.arcs.clear();
        data.arcs.extend(self.arcs.drain(..).rev());
        Ok(())
    }

    fn add(&mut self, arc: Arc<W>) {
        let position = *self.known.entry((arc.ilabel, arc.olabel, arc.next)).or_insert(self.arcs.len());
        match self.arcs.get_mut(position) {
            Some(same) => same.weight = same.weight.plus(&arc.weight),
            None => self.arcs.push(arc),
        }
    }

    /// Computes the distances along arcs without label. Without cycles it visits each state once, in topological order. On a
    /// cycle a state passes on what has been added to its distance since the last time.
    fn measure(&mut self, fst: &Fst<W>, ranks: &[usize], state: StateId) -> Result<()> {
        self.distance.clear();
        self.distance.insert(state, W::one());
        let mut added = HashMap::from([(state, W::one())]);
        let mut turn = 0_u64;
        let mut waiting = BTreeMap::from([((ranks[state as usize], turn), state)]);
        let mut rounds: HashMap<StateId, usize> = HashMap::new();
        let most = MOST_ROUNDS.max(fst.states.len());
        while let Some((_, from)) = waiting.pop_first() {
            let Some(new) = added.remove(&from) else { continue };
            let round = rounds.entry(from).or_default();
            *round += 1;
            if *round > most {
                return Err(Error::EpsilonCycle { state: from });
            }
            for arc in fst.state(from).arcs.iter().filter(|arc| arc.is_epsilon()) {
                let passed = new.times(&arc.weight);
                let first = !self.distance.contains_key(&arc.next);
                let known = self.distance.entry(arc.next).or_insert_with(W::zero);
                let better = known.plus(&passed);
                if known.is_as_good_as(&better) && !first {
                    continue;
                }
                if !known.is_as_good_as(&better) {
                    *known = better;
                }
                let sum = added.get(&arc.next).map(|sum| sum.plus(&passed));
                if sum.is_none() {
                    turn += 1;
                    waiting.insert((ranks[arc.next as usize], turn), arc.next);
                }
                added.insert(arc.next, sum.unwrap_or(passed));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_weight::LogWeight;

    fn cycle<W: Algebra>(weight: impl Fn(f32) -> W) -> Fst<W> {
        let mut fst = Fst { start: Some(0), ..Fst::default() };
        fst.states.resize_with(3, Default::default);
        fst.states[0].arcs = vec![Arc::new(0, weight(0.5), 1)];
        fst.states[1].arcs = vec![Arc::new(0, weight(0.7), 0), Arc::new(3, weight(1.0), 2)];
        fst.states[2].final_weight = W::one();
        fst
    }

    #[test]
    fn cycles_without_labels_are_removed() {
        let mut fst = cycle(|cost| cost);
        remove_epsilons(&mut fst).unwrap();
        assert_eq!(fst.states.len(), 2);
        assert_eq!(fst.states[0].arcs, [Arc::new(3, 1.5, 1)]);
        let mut fst = cycle(|cost| cost - 1.0);
        assert!(matches!(remove_epsilons(&mut fst), Err(Error::EpsilonCycle { .. })));
        // All rounds of a cycle add up in the log semiring.
        let mut fst = cycle(LogWeight);
        remove_epsilons(&mut fst).unwrap();
        let expected = 1.5 + (1.0 - (-1.2_f32).exp()).ln();
        assert!((fst.states[0].arcs[0].weight.0 - expected).abs() < 1e-5, "{fst:?} {expected}");
        let mut fst = cycle(|cost| LogWeight(cost - 1.0));
        assert!(matches!(remove_epsilons(&mut fst), Err(Error::EpsilonCycle { .. })));
    }
}
