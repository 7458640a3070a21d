//! Prepares the graph of a transcript for alignment.

use kaldi_fst::{Arc, EPSILON, Fst, ops};
use kaldi_hmm::TransitionModel;

use crate::error::{Error, Result};
use crate::lattice::Lattice;

/// The costs of a model's transitions, for graphs and lattices without them.
#[derive(Debug, Clone)]
pub struct TransitionCosts {
    /// One for each transition-id, from the first.
    costs: Vec<f32>,
}

impl TransitionCosts {
    /// Computes the costs. `self_loop_scale` is for self-loops and for leaving their states, `transition_scale` for which way
    /// a state is left.
    pub fn new(model: &TransitionModel, transition_scale: f32, self_loop_scale: f32) -> TransitionCosts {
        let cost = |id| match () {
            () if transition_scale == self_loop_scale => -transition_scale * model.log_prob(id),
            () if model.is_self_loop(id) => -self_loop_scale * model.log_prob(id),
            () => {
                let leaving = model.leaving_log_prob(model.state_index(id));
                -(self_loop_scale * leaving + transition_scale * model.log_prob_when_leaving(id))
            }
        };
        TransitionCosts { costs: model.ids().map(cost).collect() }
    }

    /// Adds the costs to the arcs of a graph that have transition-ids.
    ///
    /// # Errors
    /// The graph has a transition-id that the model has not.
    pub fn add_to_graph(&self, fst: &mut Fst) -> Result<()> {
        for (s, state) in fst.states.iter_mut().enumerate() {
            for arc in state.arcs.iter_mut().filter(|arc| arc.ilabel != EPSILON) {
                arc.weight += self.costs.get(arc.ilabel as usize - 1).ok_or(Error::GraphLabel {
                    state: s as u32,
                    label: arc.ilabel,
                    last: self.costs.len(),
                })?;
            }
        }
        Ok(())
    }

    /// Adds the costs to the graph costs of a lattice.
    ///
    /// # Errors
    /// The lattice has a transition-id that the model has not.
    pub fn add_to_lattice(&self, lattice: &mut Lattice) -> Result<()> {
        let arcs = lattice.states.iter_mut().flat_map(|state| &mut state.arcs);
        for arc in arcs.filter(|arc| arc.ilabel != EPSILON) {
            let cost = self.costs.get(arc.ilabel as usize - 1);
            arc.weight.graph +=
                cost.ok_or(Error::TransitionId { found: arc.ilabel, last: self.costs.len() })?;
        }
        Ok(())
    }
}

/// Returns the graph with a second copy behind its final states; the copy has no final states. Paths that reach the end
/// of the transcript too early continue there and compete with the others.
pub fn careful_graph(fst: &Fst) -> Fst {
    let Some(start) = fst.start else { return Fst::default() };
    let mut again = fst.clone();
    again.states.iter_mut().for_each(|state| state.final_weight = f32::INFINITY);
    let before = again.add_state();
    again.start = Some(before);
    let state = again.state_mut(before);
    state.arcs.push(Arc::new(EPSILON, 0.0, start));
    state.final_weight = 0.0;
    ops::concatenate([fst, &again])
}
