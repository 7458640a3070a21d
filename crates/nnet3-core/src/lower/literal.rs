//! Makes one operation for each command, at its position, with the effect of the command.

use super::op::{Backprop, Mode, Op, Propagate};
use crate::computation::{Command, Computation};

pub(super) fn ops(computation: &Computation) -> Vec<Op> {
    let looped = computation.is_looped();
    computation.commands.iter().map(|command| op(command, looped)).collect()
}

fn op(command: &Command, looped: bool) -> Op {
    match *command {
        Command::AcceptInput { matrix, node } => Op::Accept { matrix, node },
        Command::ProvideOutput { matrix, node } => Op::Provide { matrix, node },
        Command::Marker => Op::Marker,
        // After the label.
        Command::Goto { target } => Op::Goto { target: target + 1 },
        Command::SetConst { dest, value } => Op::Set { dest, value },
        Command::Copy { dest, src, alpha } => Op::Copy { dest, src, alpha },
        Command::Add { dest, src, alpha } => Op::Add { dest, src, alpha },
        Command::CopyRows { dest, src, rows, alpha } => Op::CopyRows { dest, src, rows, alpha },
        Command::AddRows { dest, src, rows, alpha } => Op::AddRows { dest, src, rows, alpha },
        Command::CopyRowsMulti { dest, rows, alpha } => Op::CopyRowsMulti { dest, rows, alpha },
        Command::CopyToRowsMulti { src, rows } => Op::CopyToRowsMulti { src, rows },
        Command::AddRowsMulti { dest, rows, alpha } => Op::AddRowsMulti { dest, rows, alpha },
        Command::AddToRowsMulti { src, rows, alpha } => Op::AddToRowsMulti { src, rows, alpha },
        Command::AddRowRanges { dest, src, ranges, alpha } => Op::AddRowRanges { dest, src, ranges, alpha },
        Command::Propagate(args) => Op::Propagate(Propagate { args, mode: Mode::Ordinary }),
        Command::Backprop(args) => Op::Backprop(Backprop { args, mode: Mode::Ordinary, taps: None }),
        // In a loop each matrix keeps its place.
        Command::Swap { first, second } if looped => Op::Copy { dest: first, src: second, alpha: 1.0 },
        // The plan has given both matrices their place; compression would save memory that the arena does not need.
        Command::Swap { .. }
        | Command::Allocate { .. }
        | Command::Deallocate { .. }
        | Command::Compress { .. }
        | Command::Decompress { .. }
        | Command::NoOp
        | Command::NoOpPermanent
        | Command::Label => Op::Nothing,
    }
}
