//! The FST itself.

use crate::error::{Error, Result};

/// A position in [`Fst::states`].
pub type StateId = u32;

/// The label of arcs that consume or produce nothing.
pub const EPSILON: i32 = 0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arc {
    /// Never negative.
    pub ilabel: i32,
    /// Never negative.
    pub olabel: i32,
    pub weight: f32,
    /// A state of the same FST.
    pub next: StateId,
}

#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The cost of ending here; infinite if the state is not final.
    pub final_weight: f32,
    pub arcs: Vec<Arc>,
}

/// States with arcs between them. An FST without states is empty and has no start.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fst {
    pub start: Option<StateId>,
    pub states: Vec<State>,
}

impl Default for State {
    fn default() -> State {
        State { final_weight: f32::INFINITY, arcs: Vec::new() }
    }
}

impl State {
    pub fn is_final(&self) -> bool {
        self.final_weight != f32::INFINITY
    }
}

impl Arc {
    /// An arc of an acceptor.
    pub fn new(label: i32, weight: f32, next: StateId) -> Arc {
        Arc { ilabel: label, olabel: label, weight, next }
    }

    /// Whether it has neither label.
    pub fn is_epsilon(&self) -> bool {
        self.ilabel == EPSILON && self.olabel == EPSILON
    }
}

impl Fst {
    pub fn add_state(&mut self) -> StateId {
        self.states.push(State::default());
        (self.states.len() - 1) as StateId
    }

    pub fn state(&self, id: StateId) -> &State {
        &self.states[id as usize]
    }

    pub fn state_mut(&mut self, id: StateId) -> &mut State {
        &mut self.states[id as usize]
    }

    /// How many arcs all states have together.
    pub fn num_arcs(&self) -> usize {
        self.states.iter().map(|state| state.arcs.len()).sum()
    }

    /// The states with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (StateId, &State)> {
        self.states.iter().enumerate().map(|(id, state)| (id as StateId, state))
    }

    /// Multiplies all costs, those of ending included. With 0, what is impossible stays so.
    pub fn scale(&mut self, factor: f32) {
        let scale = |weight: &mut f32| {
            if *weight != f32::INFINITY {
                *weight *= factor;
            }
        };
        for state in &mut self.states {
            scale(&mut state.final_weight);
            state.arcs.iter_mut().for_each(|arc| scale(&mut arc.weight));
        }
    }

    /// An error unless input and output labels are the same everywhere.
    pub fn check_acceptor(&self) -> Result<()> {
        for (state, data) in self.numbered() {
            if let Some(arc) = data.arcs.iter().find(|arc| arc.ilabel != arc.olabel) {
                return Err(Error::NotAcceptor { state, ilabel: arc.ilabel, olabel: arc.olabel });
            }
        }
        Ok(())
    }

    /// The largest label; 0 if there is none.
    pub fn largest_label(&self) -> i32 {
        let labels = self.states.iter().flat_map(|state| &state.arcs).map(|arc| arc.ilabel.max(arc.olabel));
        labels.max().unwrap_or(0)
    }
}
