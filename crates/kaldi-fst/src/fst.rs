//! The FST itself.

use crate::error::{Error, Result};
pub use crate::numbers::{EPSILON, StateId};
use crate::weight::Algebra;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arc<W = f32> {
    /// Never negative.
    pub ilabel: i32,
    /// Never negative.
    pub olabel: i32,
    pub weight: W,
    /// A state of the same FST.
    pub next: StateId,
}

#[derive(Debug, Clone, PartialEq)]
pub struct State<W = f32> {
    /// The weight of ending here; zero (an infinite cost) if the state is not final.
    pub final_weight: W,
    pub arcs: Vec<Arc<W>>,
}

/// States with arcs between them. An FST without states is empty and has no start.
#[derive(Debug, Clone, PartialEq)]
pub struct Fst<W = f32> {
    pub start: Option<StateId>,
    pub states: Vec<State<W>>,
}

impl<W> Default for Fst<W> {
    fn default() -> Fst<W> {
        Fst { start: None, states: Vec::new() }
    }
}

impl<W: Algebra> Default for State<W> {
    fn default() -> State<W> {
        State { final_weight: W::zero(), arcs: Vec::new() }
    }
}

impl<W: Algebra> State<W> {
    pub fn is_final(&self) -> bool {
        !self.final_weight.is_zero()
    }
}

impl<W> Arc<W> {
    /// An arc of an acceptor.
    pub fn new(label: i32, weight: W, next: StateId) -> Arc<W> {
        Arc { ilabel: label, olabel: label, weight, next }
    }

    /// True if it has neither label.
    pub fn is_epsilon(&self) -> bool {
        self.ilabel == EPSILON && self.olabel == EPSILON
    }
}

impl<W: Algebra> Fst<W> {
    pub fn add_state(&mut self) -> StateId {
        self.states.push(State::default());
        (self.states.len() - 1) as StateId
    }

    pub fn state(&self, id: StateId) -> &State<W> {
        &self.states[id as usize]
    }

    pub fn state_mut(&mut self, id: StateId) -> &mut State<W> {
        &mut self.states[id as usize]
    }

    /// Total number of arcs of all states.
    pub fn num_arcs(&self) -> usize {
        self.states.iter().map(|state| state.arcs.len()).sum()
    }

    /// The states with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (StateId, &State<W>)> {
        self.states.iter().enumerate().map(|(id, state)| (id as StateId, state))
    }

    /// Changes all weights that are not zero, final weights included.
    pub fn map_weights(&mut self, change: impl Fn(&mut W)) {
        for state in &mut self.states {
            let arcs = state.arcs.iter_mut().map(|arc| &mut arc.weight);
            arcs.chain([&mut state.final_weight]).filter(|weight| !weight.is_zero()).for_each(&change);
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

    /// Returns the largest label, or 0 without labels.
    pub fn largest_label(&self) -> i32 {
        let labels = self.states.iter().flat_map(|state| &state.arcs).map(|arc| arc.ilabel.max(arc.olabel));
        labels.max().unwrap_or(0)
    }
}

impl Fst {
    /// Multiplies all costs, including final ones. With 0, infinite costs stay infinite.
    pub fn scale(&mut self, factor: f32) {
        self.map_weights(|weight| *weight *= factor);
    }
}
