//! Steps of parameters along their gradients, by any of the rules of [`crate::StepRule`].

use crate::learning_step::{Learned, LearningStep};

/// Steps of parameters along their gradients. See the conventions of [`crate::backend`].
pub trait LearningSteps {
    /// A step of a parameter along its gradient, by a rule that may keep states; the gradient is zero afterwards. A factor of 0
    /// changes nothing else.
    fn learn(&self, learned: Learned<'_>, step: LearningStep<'_>);
}
