//! Watching a program run.

use super::{Executor, Program};
use nnet3_compiler::computation::SubmatrixId;
use nnet3_compiler::lower::Op;
use nnet3_matrix::{Backend, View};
use nnet3_network::Nnet;
use std::sync::Arc;
use std::time::Duration;

/// Is told of every operation that runs, exchanges with the user and jumps excepted. See [`Executor::observe`] and
/// [`Executor::run_observed`].
pub trait Observer: Send {
    /// The operation is about to run.
    fn before(&mut self, at: &Moment<'_>);
    /// True to run the literal commands, an operation each, instead of the lowered operations. Lowered operations may
    /// leave a matrix unwritten, or write only a part of it, if no result depends on the rest. The executor asks at the
    /// start of a program.
    fn literal(&self) -> bool {
        false
    }
    /// The operation has run, and took `time`.
    fn after(&mut self, at: &Moment<'_>, time: Duration);
}

/// View of the executor for an observer.
pub struct Moment<'a> {
    pub program: &'a Arc<Program>,
    /// Position of the operation in its list: [`Program::lowered`], or [`Program::literal`].
    pub op: usize,
    /// The network that runs forward.
    pub nnet: &'a Nnet,
    pub(super) executor: &'a Executor,
}

impl Moment<'_> {
    /// The operation itself.
    pub fn operation(&self) -> &Op {
        &self.executor.list(self.program).ops()[self.op]
    }

    /// Position in the computation of the command that the operation belongs to.
    pub fn command(&self) -> usize {
        self.executor.list(self.program).command(self.op)
    }

    /// Returns the contents of a sub-matrix. If operations are not [literal](Observer::literal), inputs of sparse rows
    /// have no contents until an operation reads them dense.
    pub fn value(&self, id: SubmatrixId) -> View<'_> {
        self.executor.view(self.program, id).as_view()
    }

    pub fn backend(&self) -> &dyn Backend {
        &*self.executor.device
    }
}
