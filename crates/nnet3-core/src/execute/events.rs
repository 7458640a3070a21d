//! What happens to each matrix of a computation, in order.

use crate::buckets::Buckets;
use crate::computation::{Command, Computation, MatrixId, SubmatrixId};
use crate::nnet::Nnet;
use crate::optimize::analysis::{AccessKind, submatrix_accesses};
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Reads(SubmatrixId),
    /// Sets every element, whatever there was.
    Sets(SubmatrixId),
    /// Reads, and writes or may write.
    Changes(SubmatrixId),
    Allocates,
    Deallocates,
    SwapsWith(MatrixId),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    command: u32,
    pub what: What,
}

impl Event {
    pub fn command(&self) -> usize {
        self.command as usize
    }
}

/// By matrix, in the order of commands. Of one command, what reads comes before what sets.
pub(super) type Events = Buckets<Event>;

/// What happens to a matrix from the first of these commands on, up to the last.
pub(super) fn between(events: &Events, matrix: MatrixId, commands: Range<usize>) -> &[Event] {
    let events = events.of(matrix.index());
    let until = |command: usize| events.partition_point(|event| event.command() < command);
    let first = until(commands.start);
    &events[first..until(commands.end).max(first)]
}

pub(super) fn events(nnet: &Nnet, computation: &Computation) -> Events {
    let mut found = Vec::with_capacity(4 * computation.commands.len());
    let mut accesses = Vec::new();
    for (command, c) in computation.commands.iter().enumerate() {
        let command = command as u32;
        let mut push = |s: SubmatrixId, what| {
            found.push((computation.matrix_of(s).0, Event { command, what }));
        };
        match *c {
            Command::Allocate { matrix } => push(matrix, What::Allocates),
            Command::Deallocate { matrix } => push(matrix, What::Deallocates),
            Command::Swap { first, second } => {
                push(first, What::SwapsWith(computation.matrix_of(second)));
                push(second, What::SwapsWith(computation.matrix_of(first)));
            }
            _ => {
                accesses.clear();
                submatrix_accesses(nnet, computation, c, &mut accesses);
                let sets = |&(s, kind): &(SubmatrixId, AccessKind)| {
                    // Rows that are picked from nowhere become zeros.
                    let picks = matches!(*c, Command::CopyRows { dest, .. } if dest == s);
                    kind == AccessKind::Write || (picks && kind == AccessKind::ReadWrite)
                };
                for access in accesses.iter().filter(|access| !sets(access)) {
                    let reads = access.1 == AccessKind::Read;
                    push(access.0, if reads { What::Reads(access.0) } else { What::Changes(access.0) });
                }
                for access in accesses.iter().filter(|access| sets(access)) {
                    push(access.0, What::Sets(access.0));
                }
            }
        }
    }
    Events::new(computation.matrices.len(), &found)
}
