//! Steps of parameters along their gradients, by any of the rules of [`crate::StepRule`].

use crate::learning_step::{Learned, LearningStep};

/// Steps of parameters along their gradients. See the conventions of [`crate::backend`].
pub trait LearningSteps {
    /// Moves a parameter one step along its gradient, by a rule that may keep states, and sets the gradient to zero.
    /// With a factor of 0 only the gradient changes.
    fn learn(&self, learned: Learned<'_>, step: LearningStep<'_>);
}
