//! Events of a training, and their receiver.

use crate::ledger::{GradientNorm, Remark};
use crate::max_change::MaxChange;
use crate::minibatch::MinibatchMemory;
use crate::objective::ObjectiveValue;
use crate::phase_stats::Phase;

/// Events during training.
#[derive(Debug)]
pub enum Event {
    /// An output of a minibatch has been evaluated. Minibatches count from 0.
    Objective { minibatch: u64, output: String, value: ObjectiveValue },
    /// A phase is over.
    Phase(Phase),
    /// A limit on the change of parameters was active.
    MaxChange(MaxChange),
    /// The gradients of a step by rules.
    Gradient { minibatch: u64, norm: GradientNorm },
    /// The change was infinite or not a number, and has not been applied.
    ChangeRefused { minibatch: u64 },
    /// A constrained matrix is far from its constraint.
    Constraint { component: String, warning: String },
    /// A remark of the objective about a minibatch.
    Remark { minibatch: u64, remark: Remark },
    /// A minibatch that is about to run needs more memory than any before.
    Memory { minibatch: u64, memory: MinibatchMemory },
}

/// A receiver of events. Any function of an [`Event`] is one.
pub trait Report {
    fn event(&mut self, event: Event);
}

impl<F: FnMut(Event)> Report for F {
    fn event(&mut self, event: Event) {
        self(event)
    }
}
