//! Watching a program run.

use super::{Executor, Program};
use crate::computation::SubmatrixId;
use crate::nnet::Nnet;
use nnet3_matrix::{Backend, View};
use std::sync::Arc;
use std::time::Duration;

/// Is told of every command that is executed, exchanges with the user and jumps excepted. See [`Executor::observe`] and
/// [`Executor::run_observed`].
pub trait Observer: Send {
    /// The command is about to run.
    fn before(&mut self, at: &Moment<'_>);
    /// Whether every command is to do what it says. Otherwise matrices are left as they are, or are partly written, where
    /// nothing depends on it.
    fn literal(&self) -> bool {
        true
    }
    /// The command has run, and took `time`.
    fn after(&mut self, at: &Moment<'_>, time: Duration);
}

/// What an observer may look at.
pub struct Moment<'a> {
    pub program: &'a Arc<Program>,
    /// Position of the command in the computation.
    pub command: usize,
    /// The network that runs forward.
    pub nnet: &'a Nnet,
    pub(super) executor: &'a Executor,
}

impl Moment<'_> {
    /// The contents of a sub-matrix.
    pub fn value(&self, id: SubmatrixId) -> View<'_> {
        self.executor.view(self.program, id).as_view()
    }

    pub fn backend(&self) -> &dyn Backend {
        &*self.executor.device
    }
}
