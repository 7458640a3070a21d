//! The point between a forward and a backward pass, where outputs become derivatives.

use crate::error::Result;
use nnet3_core::execute::Executor;
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;
use nnet3_matrix::{Device, View, ViewMut, Workspace};

/// Lends all outputs of a minibatch and the places of their derivatives together. They are the executor's memory, and
/// different memory for each.
pub struct Exchange<'e> {
    executor: &'e Executor,
    nnet: &'e Nnet,
    random: &'e Random,
    derivatives: bool,
}

impl<'e> Exchange<'e> {
    /// The exchange at the present stop of the executor, which waits for derivatives if there are to be any.
    pub fn new(
        executor: &'e Executor,
        nnet: &'e Nnet,
        random: &'e Random,
        derivatives: bool,
    ) -> Exchange<'e> {
        Exchange { executor, nnet, random, derivatives }
    }

    /// True if derivatives are wanted.
    pub fn derivatives(&self) -> bool {
        self.derivatives
    }

    /// The output of this name, rows in the request's order.
    pub fn output(&self, name: &str) -> Result<View<'e>> {
        Ok(self.executor.output(self.nnet, name)?)
    }

    /// Returns the matrix for the derivative with respect to the output of this name, in the output's shape; `None` if
    /// it is not wanted. The objective calls this once for each output and writes every element: old contents are
    /// undefined.
    pub fn derivative(&self, name: &str) -> Result<Option<ViewMut<'e>>> {
        if !self.derivatives {
            return Ok(None);
        }
        Ok(Some(self.executor.input(self.nnet, name)?))
    }

    pub fn device(&self) -> &'e Device {
        self.executor.device()
    }

    /// Scratch memory for matrices that are needed during the evaluation.
    pub fn workspace(&self) -> &'e Workspace {
        self.executor.workspace()
    }

    /// The source of the run's random numbers.
    pub fn random(&self) -> &'e Random {
        self.random
    }

    pub fn nnet(&self) -> &'e Nnet {
        self.nnet
    }
}
