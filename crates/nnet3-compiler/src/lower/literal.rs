//! Makes one operation for each command, at its position, with the effect of the command.

use super::op::{Backprop, Mode, Op, Propagate};
use crate::computation::{Command, Computation};

pub(super) fn ops(computation: &Computation) -> Vec<Op> {
    let looped = computation.is_looped();
    computation.commands.iter().map(|command| op(command, looped)).collect()
}

fn op(command: &Command, looped: bool) -> Op {
    match *command {
        // After the label.
        Command::Goto { target } => Op::Goto { target: target + 1 },
        Command::Propagate(args) => Op::Propagate(Propagate { args, mode: Mode::Ordinary }),
        Command::Backprop(args) => Op::Backprop(Backprop { args, mode: Mode::Ordinary, taps: None }),
        // In a loop each matrix keeps its place.
        Command::Swap { first, second } if looped => {
            Op::Command(Command::Copy { dest: first, src: second, alpha: 1.0 })
        }
        // The plan has given both matrices their place; compression would save memory that the arena does not need.
        Command::Swap { .. }
        | Command::Allocate { .. }
        | Command::Deallocate { .. }
        | Command::Compress { .. }
        | Command::Decompress { .. }
        | Command::NoOp
        | Command::NoOpPermanent
        | Command::Label => Op::Nothing,
        command => Op::Command(command),
    }
}
