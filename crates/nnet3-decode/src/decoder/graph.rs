//! Graphs as a search wants them: arcs in one array, those of a state that consume no frame before those that do.

use kaldi_fst::{Arc, EPSILON, Fst, StateId};

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
    pub fn new(fst: &Fst, num_transition_ids: usize) -> Result<SearchGraph> {
        let total = fst.num_arcs();
        if total >= u32::MAX as usize {
            return Err(Error::Data(format!("the graph has {total} arcs, which are too many")));
        }
        let mut graph = SearchGraph {
            start: fst.start,
            states: Vec::with_capacity(fst.states.len() + 1),
            arcs: Vec::with_capacity(total),
            finals: fst.states.iter().map(|state| state.final_weight).collect(),
        };
        for (s, state) in fst.numbered() {
            let first = graph.arcs.len() as u32;
            graph.arcs.extend(state.arcs.iter().filter(|arc| arc.ilabel == EPSILON));
            graph.states.push(Bounds { first, emitting: graph.arcs.len() as u32 });
            for arc in state.arcs.iter().filter(|arc| arc.ilabel != EPSILON) {
                if arc.ilabel as usize > num_transition_ids {
                    return Err(Error::GraphLabel { state: s, label: arc.ilabel, last: num_transition_ids });
                }
                graph.arcs.push(*arc);
            }
        }
        let end = graph.arcs.len() as u32;
        graph.states.push(Bounds { first: end, emitting: end });
        Ok(graph)
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
