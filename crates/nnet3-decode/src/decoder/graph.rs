//! Graphs as a search wants them: arcs in one array, those of a state that consume no frame before those that do.

use kaldi_fst::{Arc, EPSILON, FlatFst, StateId};

use crate::error::{Error, Result};

/// What a search goes through. States get their numbers as they are found, and what is known of them may be worked out when it
/// is asked for.
pub trait Graph {
    /// `None` if the graph is empty.
    fn start(&mut self) -> Option<StateId>;

    /// All states have numbers below this one, so far.
    fn num_states(&self) -> usize;

    /// Infinite if the state is not final.
    fn final_cost(&self, state: StateId) -> f32;

    /// The arcs that consume a frame.
    fn emitting(&mut self, state: StateId) -> &[Arc];

    /// The arcs that consume nothing.
    fn epsilons(&mut self, state: StateId) -> &[Arc];

    /// Whether there can be arcs that consume nothing, as far as it is known without work.
    fn may_have_epsilons(&self, state: StateId) -> bool;

    /// Whether so much has been worked out that it should be forgotten.
    fn is_full(&self) -> bool {
        false
    }

    /// Forgets all states but those, and gives them new numbers.
    fn forget_others(&mut self, _keep: &mut dyn Iterator<Item = &mut StateId>) {}
}

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

impl Graph for &SearchGraph {
    fn start(&mut self) -> Option<StateId> {
        SearchGraph::start(self)
    }

    fn num_states(&self) -> usize {
        SearchGraph::num_states(self)
    }

    fn final_cost(&self, state: StateId) -> f32 {
        SearchGraph::final_cost(self, state)
    }

    fn emitting(&mut self, state: StateId) -> &[Arc] {
        SearchGraph::emitting(self, state)
    }

    fn epsilons(&mut self, state: StateId) -> &[Arc] {
        SearchGraph::epsilons(self, state)
    }

    fn may_have_epsilons(&self, state: StateId) -> bool {
        self.has_epsilons(state)
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
