//! Saves and restores the memory of a program at a stop, for computations that branch, such as those of the paths of a lattice.

use super::Executor;
use nnet3_base::error::{Error, Result};
use nnet3_compiler::computation::{Command, Computation};
use nnet3_compiler::plan::Plan;
use std::collections::BTreeSet;
use std::ops::Range;

/// The place of an executor in its program, and the matrices that exist there.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutorState {
    next: usize,
    values: Vec<f32>,
}

impl ExecutorState {
    /// The number of floats in the memory of the matrices that exist.
    pub fn elements(&self) -> usize {
        self.values.len()
    }
}

impl Executor {
    /// Returns the state at the present stop, where all inputs of the next run are still to be given.
    pub fn state(&self) -> Result<ExecutorState> {
        let program = self.program()?;
        if self.by_table {
            let message = "the state of a computation whose input is picked from a table is not saved";
            return Err(Error::Execution(message.to_string()));
        }
        let mut values = Vec::new();
        for range in self.alive(program.computation(), program.plan()) {
            let view = self.arena.view(range.start, 1, range.len(), range.len()).as_view();
            values.extend(self.device.download(view));
        }
        Ok(ExecutorState { next: self.next, values })
    }

    /// Goes back to a state of the program that has been started. Inputs that were given since then are forgotten.
    ///
    /// # Panics
    /// If the state is one of another program.
    pub fn restore(&mut self, state: &ExecutorState) -> Result<()> {
        let program = self.program()?.clone();
        self.forget_picked();
        self.next = state.next;
        self.supplied.borrow_mut().clear();
        self.sparse.borrow_mut().clear();
        let mut values = &state.values[..];
        for range in self.alive(program.computation(), program.plan()) {
            let (these, rest) = values.split_at(range.len());
            self.device.upload(self.arena.view(range.start, 1, range.len(), range.len()), these);
            values = rest;
        }
        assert!(values.is_empty(), "a state of another program");
        Ok(())
    }

    /// Places in the arena of the matrices that exist at the present stop. In a loop that is the same in each round.
    fn alive(&self, computation: &Computation, plan: &Plan) -> Vec<Range<usize>> {
        let Some(program) = &self.program else { return Vec::new() };
        let list = self.list(program);
        let commands = match self.next < list.ops().len() {
            true => &computation.commands[..list.command(self.next)],
            false => &computation.commands[..],
        };
        let mut alive = BTreeSet::new();
        for command in commands {
            let of = |matrix| computation.matrix_of(matrix);
            match *command {
                Command::Allocate { matrix } | Command::AcceptInput { matrix, .. } => {
                    alive.insert(of(matrix));
                }
                Command::Deallocate { matrix } => {
                    alive.remove(&of(matrix));
                }
                Command::Swap { first, second } => {
                    let (had_first, had_second) = (alive.remove(&of(first)), alive.remove(&of(second)));
                    alive.extend(
                        had_first.then(|| of(second)).into_iter().chain(had_second.then(|| of(first))),
                    );
                }
                _ => {}
            }
        }
        let place = |matrix: &_| {
            let info = computation.matrix(*matrix);
            plan.memory_of(*matrix, info.rows * info.cols)
        };
        alive.iter().map(place).collect()
    }
}
