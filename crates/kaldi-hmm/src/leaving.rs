//! Probabilities of leaving transition states, as graphs need them: self-loops are put into graphs separately from the
//! other transitions.

use crate::transitions::{TransitionId, TransitionModel, TransitionState};

/// Probability of leaving a state with a self-loop of probability 1.
const LEAST_PROBABILITY: f32 = 1e-10;

impl TransitionModel {
    /// Index of a transition state in [`TransitionModel::states`].
    pub fn find_state(&self, state: &TransitionState) -> Option<usize> {
        self.states().binary_search(state).ok()
    }

    /// The self-loop of the state with this index, if it has one.
    pub fn self_loop_of(&self, state: usize) -> Option<TransitionId> {
        self.ids_of_state(state).find(|&id| self.is_self_loop(id))
    }

    /// Logarithm of the probability that the state with this index is left.
    pub fn leaving_log_prob(&self, state: usize) -> f32 {
        let left = self.self_loop_of(state).map_or(1.0, |id| 1.0 - self.log_prob(id).exp());
        if left > 0.0 { left.ln() } else { LEAST_PROBABILITY.ln() }
    }

    /// Logarithm of the probability of a transition that is no self-loop, if the state is left.
    pub fn log_prob_when_leaving(&self, id: TransitionId) -> f32 {
        self.log_prob(id) - self.leaving_log_prob(self.state_index(id))
    }
}
