//! Read-only FSTs: all arcs are in one array, without allocations for each state.

use crate::fst::{Arc, Fst, StateId};

/// An FST in the tropical semiring. Its arcs lead to states that there are, and have no negative labels.
#[derive(Debug, Clone, PartialEq)]
pub struct FlatFst {
    pub start: Option<StateId>,
    /// The cost of ending in each state; infinite if it is not final.
    pub finals: Vec<f32>,
    /// The position of each state's first arc. A last entry is the end of the last state's arcs.
    pub first_arcs: Vec<u32>,
    pub arcs: Vec<Arc>,
}

impl FlatFst {
    pub fn num_states(&self) -> usize {
        self.finals.len()
    }

    /// The positions of the arcs of a state.
    pub fn arcs_of(&self, state: usize) -> std::ops::Range<usize> {
        self.first_arcs[state] as usize..self.first_arcs[state + 1] as usize
    }
}

impl From<&Fst> for FlatFst {
    /// There must be fewer than 2³² arcs.
    fn from(fst: &Fst) -> FlatFst {
        let mut first_arcs = vec![0];
        let mut arcs = Vec::with_capacity(fst.num_arcs());
        for state in &fst.states {
            arcs.extend_from_slice(&state.arcs);
            first_arcs.push(arcs.len() as u32);
        }
        let finals = fst.states.iter().map(|state| state.final_weight).collect();
        FlatFst { start: fst.start, finals, first_arcs, arcs }
    }
}
