//! Removing arcs without labels.

use std::collections::{BTreeMap, HashMap};

use crate::error::{Error, Result};
use crate::fst::{Arc, Fst, StateId};
use crate::ops::connect::connect;
use crate::ops::order::filtered_order;
use crate::weight::Weight;

/// Replaces arcs without labels by the arcs that follow them, and removes unused states. Epsilon arcs must not form a
/// cycle.
///
/// States keep their order, and the arcs of a state have the same order as with OpenFst's `RmEpsilon`. So merged
/// supervision is the same as that of other programs, byte for byte.
pub fn remove_epsilons<W: Weight>(fst: &mut Fst<W>) -> Result<()> {
    let Some(start) = fst.start else { return Ok(()) };
    let order = filtered_order(fst, Arc::is_epsilon).map_err(|state| Error::EpsilonCycle { state })?;
    // States that are entered with a label; the others are only passed through.
    let mut entered = vec![false; fst.states.len()];
    entered[start as usize] = true;
    for arc in fst.states.iter().flat_map(|state| &state.arcs).filter(|arc| !arc.is_epsilon()) {
        entered[arc.next as usize] = true;
    }
    let mut ranks = vec![0; fst.states.len()];
    order.iter().enumerate().for_each(|(rank, &state)| ranks[state as usize] = rank);
    let mut expansion = Expansion { distance: HashMap::new(), known: HashMap::new(), arcs: Vec::new() };
    for &state in order.iter().rev().filter(|&&state| entered[state as usize]) {
        expansion.expand(fst, &ranks, state);
    }
    for (state, _) in fst.states.iter_mut().zip(entered).filter(|(_, entered)| !entered) {
        state.arcs.clear();
    }
    connect(fst);
    Ok(())
}

/// The states and arcs that are reached from one state by arcs without labels.
struct Expansion<W> {
    /// Costs of the states reached, from the state that is expanded.
    distance: HashMap<StateId, W>,
    /// Positions of arcs by labels and destination.
    known: HashMap<(i32, i32, StateId), usize>,
    arcs: Vec<Arc<W>>,
}

impl<W: Weight> Expansion<W> {
    fn expand(&mut self, fst: &mut Fst<W>, ranks: &[usize], state: StateId) {
        self.measure(fst, ranks, state);
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
    }

    fn add(&mut self, arc: Arc<W>) {
        let position = *self.known.entry((arc.ilabel, arc.olabel, arc.next)).or_insert(self.arcs.len());
        match self.arcs.get_mut(position) {
            Some(same) => same.weight = same.weight.plus(&arc.weight),
            None => self.arcs.push(arc),
        }
    }

    /// Computes the distances along arcs without label. It visits each state once, in topological order.
    fn measure(&mut self, fst: &Fst<W>, ranks: &[usize], state: StateId) {
        self.distance.clear();
        self.distance.insert(state, W::one());
        let mut waiting = BTreeMap::from([(ranks[state as usize], state)]);
        while let Some((_, from)) = waiting.pop_first() {
            let distance = self.distance[&from].clone();
            for arc in fst.state(from).arcs.iter().filter(|arc| arc.is_epsilon()) {
                let known = self.distance.entry(arc.next).or_insert_with(W::zero);
                let better = known.plus(&distance.times(&arc.weight));
                if !known.is_as_good_as(&better) {
                    *known = better;
                }
                waiting.insert(ranks[arc.next as usize], arc.next);
            }
        }
    }
}
