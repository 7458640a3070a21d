//! Graphs as a search wants them: arcs in one array, those of a state that consume no frame before those that do.

use kaldi_fst::{Arc, EPSILON, FlatFst, StateId};

use crate::error::{Error, Result};

/// A graph that does not change. Input labels are transition-ids, output labels are words.
#[derive(Debug, Clone)]
pub struct SearchGraph {
    start: Option<StateId>,
    /// One more than there are states; the last one ends the arcs.
    states: Vec<Bounds>,
    arcs: Vec<Arc>,
    /// The cost of ending in each state.
    finals: Vec<f32>,
}

/// Positions of the first arc of a state, and of its first one that consumes a frame.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    first: u32,
    emitting: u32,
}

impl SearchGraph {
    /// An error if the graph has input labels above `num_transition_ids`.
    pub fn new(fst: FlatFst, num_transition_ids: usize) -> Result<SearchGraph> {
        let mut states = Vec::with_capacity(fst.num_states() + 1);
        let mut emitting_arcs = Vec::new();
        for s in 0..fst.num_states() {
            let range = fst.arcs_of(s);
            let first = range.start as u32;
            for arc in &fst.arcs[range.clone()] {
                if arc.ilabel as usize > num_transition_ids {
                    let (state, label) = (s as StateId, arc.ilabel);
                    return Err(Error::GraphLabel { state, label, last: num_transition_ids });
                }
            }
            states.push(Bounds { first, emitting: first });
        }
        let end = fst.arcs.len() as u32;
        states.push(Bounds { first: end, emitting: end });
        let FlatFst { start, finals, first_arcs, mut arcs } = fst;
        drop(first_arcs);
        for s in 0..finals.len() {
            let range = states[s].first as usize..states[s + 1].first as usize;
            states[s].emitting += epsilons_first(&mut arcs[range], &mut emitting_arcs) as u32;
        }
        Ok(SearchGraph { start, states, arcs, finals })
    }

    /// `None` if the graph is empty.
    pub fn start(&self) -> Option<StateId> {
        self.start
    }

    pub fn num_states(&self) -> usize {
        self.finals.len()
    }

    /// Infinite if the state is not final.
    pub fn final_cost(&self, state: StateId) -> f32 {
        self.finals[state as usize]
    }

    /// The arcs that consume a frame.
    pub fn emitting(&self, state: StateId) -> &[Arc] {
        let s = state as usize;
        &self.arcs[self.states[s].emitting as usize..self.states[s + 1].first as usize]
    }

    /// The arcs that consume nothing.
    pub fn epsilons(&self, state: StateId) -> &[Arc] {
        let Bounds { first, emitting } = self.states[state as usize];
        &self.arcs[first as usize..emitting as usize]
    }

    pub fn has_epsilons(&self, state: StateId) -> bool {
        let Bounds { first, emitting } = self.states[state as usize];
        first != emitting
    }
}

/// Puts the arcs without input labels first, and changes no order else. How many they are. `others` is memory to use.
fn epsilons_first(arcs: &mut [Arc], others: &mut Vec<Arc>) -> usize {
    others.clear();
    let mut epsilons = 0;
    for i in 0..arcs.len() {
        if arcs[i].ilabel == EPSILON {
            arcs[epsilons] = arcs[i];
            epsilons += 1;
        } else {
            others.push(arcs[i]);
        }
    }
    arcs[epsilons..].copy_from_slice(others);
    epsilons
}
