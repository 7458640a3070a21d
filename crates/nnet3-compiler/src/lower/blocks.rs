//! A pass for runs of operations that set, copy to and add to parts of one large matrix without reading it. Each row of
//! that matrix is independent of the others. So all operations of a run are done for a block of rows at a time, which
//! stays in the cache. Every element gets the same values in the same order.

use super::op::{Blocks, Op};
use super::{Lowering, MatrixId};
use crate::computation::Command;

pub(super) fn run(lowering: &mut Lowering<'_>) {
    // The block counts the matrix and about as many elements of the sources.
    let Some(block) = lowering.device.cached_elements().map(|most| most / 4) else { return };
    for (matrix, places) in runs(lowering) {
        let size = lowering.computation.matrix(matrix);
        if size.rows * size.cols <= 4 * block {
            continue;
        }
        let rows = (block / size.cols).max(1);
        let ops = places.iter().map(|&place| std::mem::replace(lowering.at(place), Op::Nothing));
        let commands = ops.filter_map(|op| if let Op::Command(command) = op { Some(command) } else { None });
        let commands = commands.collect();
        *lowering.at(places[0]) = Op::Blocks(Blocks { matrix, rows, commands });
    }
}

/// Position of an operation.
#[derive(Clone, Copy)]
enum Place {
    Inserted(usize),
    Command(usize),
}

impl Lowering<'_> {
    fn at(&mut self, place: Place) -> &mut Op {
        match place {
            Place::Inserted(i) => &mut self.inserted[i].1,
            Place::Command(c) => {
                self.changed[c] = true;
                &mut self.ops[c]
            }
        }
    }
}

/// Runs of two or more operations on one matrix, consecutive apart from no-ops.
fn runs(lowering: &Lowering<'_>) -> Vec<(MatrixId, Vec<Place>)> {
    let mut runs: Vec<(MatrixId, Vec<Place>)> = Vec::new();
    // The operation before this one with its matrix, if it could be part of a run, and whether it is.
    let (mut before, mut goes_on) = (None, false);
    let mut next = |place: Place, op: &Op| {
        let to = destination(lowering, op);
        let first = before.filter(|&(_, matrix)| to == Some(matrix));
        match (first, runs.last_mut().filter(|_| goes_on)) {
            (Some(_), Some((_, run))) => run.push(place),
            (Some((first, matrix)), None) => runs.push((matrix, vec![first, place])),
            (None, _) => {}
        }
        goes_on = first.is_some();
        before = to.map(|matrix| (place, matrix));
    };
    let mut inserted = lowering.inserted.iter().enumerate().peekable();
    for (c, op) in lowering.ops.iter().enumerate() {
        while let Some((i, (_, op))) = inserted.next_if(|(_, (at, _))| *at == c) {
            next(Place::Inserted(i), op);
        }
        let silent = !lowering.is_literal(c) || is_silent(&lowering.computation.commands[c]);
        if !(silent && *op == Op::Nothing) {
            next(Place::Command(c), op);
        }
    }
    runs
}

/// The matrix that an operation sets, copies to or adds to, if it could be part of a run.
fn destination(lowering: &Lowering<'_>, op: &Op) -> Option<MatrixId> {
    match *op {
        Op::Command(Command::SetConst { dest, .. }) => Some(lowering.matrix_of(dest)),
        Op::Command(Command::Copy { dest, src, .. } | Command::Add { dest, src, .. }) => {
            let to = lowering.matrix_of(dest);
            (to != lowering.matrix_of(src)).then_some(to)
        }
        _ => None,
    }
}

/// True if the command does not limit the order of the operations around it: sizes are planned beforehand.
pub(super) fn is_silent(command: &Command) -> bool {
    matches!(command, Command::Allocate { .. } | Command::Deallocate { .. } | Command::NoOp)
}
