//! Steps of the forward and backward recursion of a hidden Markov model, for several sequences, a column each.

use crate::hmm::{Hmm, HmmStep};
use crate::view::{View, ViewMut};

/// Steps of the recursions of hidden Markov models. See the conventions of [`crate::backend`].
pub trait HiddenMarkovModels {
    /// How many sequences side by side the primitives below take at best; `None` where it is as many as there are.
    fn hmm_columns(&self) -> Option<usize> {
        None
    }
    /// One step of the forward recursion for the sequences in the columns, for each state j:
    /// next\[j\] = Σ x(e) · (scale · Σ q · alpha\[i\] + leak · Σ q · π\[i\]) over the entries e of j and the arcs of e, with
    /// probabilities q, from states i; x(e) is the likelihood of the symbol of e.
    fn hmm_forward(&self, next: ViewMut<'_>, hmm: &Hmm, step: HmmStep<'_>);
    /// What the step gives for each entry e of each state j: entries\[e\] = x(e) · (beta\[j\] + shared), the share of `beta` that is
    /// due to e, and posteriors\[s\] = Σ (beta\[j\] + shared) · (what e had in next\[j\]) over the entries of symbol s. `next` is
    /// what [`HiddenMarkovModels::hmm_forward`] made of `step`, `shared` is 1 × n.
    #[allow(clippy::too_many_arguments)]
    fn hmm_entries(
        &self,
        entries: ViewMut<'_>,
        posteriors: ViewMut<'_>,
        hmm: &Hmm,
        step: HmmStep<'_>,
        next: View<'_>,
        beta: View<'_>,
        shared: View<'_>,
    );
    /// The step backwards: beta\[i\] = scale · Σ q · entries\[e\] over the arcs of state i with probability q into entry e.
    fn hmm_backward(&self, beta: ViewMut<'_>, hmm: &Hmm, entries: View<'_>, scale: View<'_>);
}
