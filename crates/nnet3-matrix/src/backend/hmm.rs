//! Steps of the forward and backward recursion of a hidden Markov model, for several sequences, a column each.

use crate::hmm::{Hmm, HmmPosteriors, HmmStep, HmmWayBack};
use crate::view::{View, ViewMut};

/// Steps of the recursions of hidden Markov models. See the conventions of [`crate::backend`].
pub trait HiddenMarkovModels {
    /// Best number of sequences side by side for the primitives below; `None` if more are always better.
    fn hmm_columns(&self) -> Option<usize> {
        None
    }
    /// One step of the forward recursion for the sequences in the columns. For each state j, next\[j\] = Σ x(e) ·
    /// (scale · Σ q · alpha\[i\] + leak · Σ q · π\[i\]). The outer sum is over the entries e of j. The inner sums are
    /// over the arcs of e, with probabilities q, from states i. x(e) is the likelihood of the symbol of e. total (1 ×
    /// n) = Σ next\[j\].
    fn hmm_forward(&self, next: ViewMut<'_>, total: ViewMut<'_>, hmm: &Hmm, step: HmmStep<'_>);
    /// One step of the backward recursion, from `way.beta` at its end to that at its beginning. For each state j,
    /// b\[j\] = beta\[j\] + shared. Then posteriors\[s\] = factor · Σ b\[j\] · (share of e in next\[j\]) over the
    /// entries e of symbol s, each of a state j. beta\[i\] becomes scale · Σ q · x(e) · b\[j\] over the arcs of state
    /// i, with probability q into entry e of state j. Last, shared becomes leak · Σ π\[i\] · beta\[i\] with the new
    /// beta. `next` is the result of [`HiddenMarkovModels::hmm_forward`] for `step`.
    fn hmm_backward(
        &self,
        way: HmmWayBack<'_>,
        posteriors: HmmPosteriors<'_>,
        hmm: &Hmm,
        step: HmmStep<'_>,
        next: View<'_>,
    );
}
