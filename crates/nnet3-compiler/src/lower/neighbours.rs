//! The commands before and after a command, for passes that join neighbours.

use super::Lowering;
use super::blocks::is_silent;
use super::op::{Backprop, Mode, Op, Part, PartBack, Propagate};
use crate::computation::Command;

/// True if the command has no effect on values: operations before it may run after it, if matrices and memory allow. Matrices
/// are never compressed here.
fn is_passed(command: &Command) -> bool {
    is_silent(command)
        || matches!(command, Command::Compress { .. } | Command::Decompress { .. } | Command::Swap { .. })
}

impl Lowering<'_> {
    /// The last command before this one that has an effect on values.
    pub(super) fn before(&self, command: usize) -> Option<usize> {
        (0..command).rev().find(|&c| !is_passed(&self.computation.commands[c]))
    }

    /// The first command after this one that has an effect on values.
    pub(super) fn after(&self, command: usize) -> Option<usize> {
        (command + 1..self.ops.len()).find(|&c| !is_passed(&self.computation.commands[c]))
    }

    /// The literal propagate at this position.
    pub(super) fn propagate_at(&self, command: usize) -> Option<Part> {
        match self.ops[command] {
            Op::Propagate(Propagate { args, mode: Mode::Ordinary }) if self.is_literal(command) => {
                Some(Part { command, args })
            }
            _ => None,
        }
    }

    /// The literal backprop at this position.
    pub(super) fn backprop_at(&self, command: usize) -> Option<PartBack> {
        match self.ops[command] {
            Op::Backprop(Backprop { args, mode: Mode::Ordinary, taps: None }) if self.is_literal(command) => {
                Some(PartBack { command, args })
            }
            _ => None,
        }
    }

    /// The literal command at this position.
    pub(super) fn command_at(&self, command: usize) -> Option<Command> {
        self.is_literal(command).then(|| self.computation.commands[command])
    }

    /// True if no matrix takes memory between these commands.
    pub(super) fn no_memory_is_taken(&self, first: usize, last: usize) -> bool {
        let between = &self.computation.commands[first + 1..last.max(first + 1)];
        !between.iter().any(|c| matches!(c, Command::Allocate { .. } | Command::AcceptInput { .. }))
    }
}
