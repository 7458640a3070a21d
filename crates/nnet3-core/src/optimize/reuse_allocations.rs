//! A matrix that is allocated after another of its shape was freed takes over the other's storage (spec compiler
//! §6.11).

use super::renumber::remove_no_ops;
use crate::computation::{Command, Computation, MatrixInfo, SubmatrixId};
use crate::fast_hash::FastMap;
use std::collections::BTreeSet;

#[derive(Default)]
struct Group {
    freed: Vec<usize>,
    allocated: BTreeSet<usize>,
}

pub fn run(computation: &mut Computation) {
    let mut groups: FastMap<MatrixInfo, Group> = FastMap::default();
    for (c, command) in computation.commands.iter().enumerate() {
        let shape = |s: SubmatrixId| *computation.matrix(computation.matrix_of(s));
        match *command {
            Command::Allocate { matrix } => {
                groups.entry(shape(matrix)).or_default().allocated.insert(c);
            }
            Command::Deallocate { matrix } => groups.entry(shape(matrix)).or_default().freed.push(c),
            _ => {}
        }
    }
    // Groups do not touch each other's commands, so their order does not matter.
    for Group { freed, mut allocated } in groups.into_values() {
        for d in freed.into_iter().rev() {
            let Some(&a) = allocated.range(d..).next() else {
                continue;
            };
            allocated.remove(&a);
            let commands = &mut computation.commands;
            if let (Command::Deallocate { matrix: second }, Command::Allocate { matrix: first }) =
                (commands[d], commands[a])
            {
                commands[d] = Command::NoOp;
                commands[a] = Command::Swap { first, second };
            }
        }
    }
    remove_no_ops(computation);
}
