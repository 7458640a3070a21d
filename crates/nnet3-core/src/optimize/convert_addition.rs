//! Additions to what is still zero become assignments (spec compiler §6.4).

use super::analysis::{Analysis, submatrix_accesses};
use crate::computation::{Command, Computation};
use crate::error::Result;
use crate::nnet::Nnet;

pub fn run(nnet: &Nnet, computation: &mut Computation) -> Result<()> {
    let analysis = Analysis::new(nnet, computation)?;
    let mut accesses = Vec::new();
    for c in 0..computation.commands.len() {
        let Some(assignment) = assignment(computation.commands[c]) else {
            continue;
        };
        accesses.clear();
        submatrix_accesses(nnet, computation, &computation.commands[c], &mut accesses);
        let mut written = accesses.iter().filter(|(_, kind)| kind.writes());
        if written.all(|&(s, _)| analysis.first_nontrivial_access(s) == Some(c)) {
            computation.commands[c] = assignment;
        }
    }
    Ok(())
}

/// What the addition would be as an assignment.
fn assignment(command: Command) -> Option<Command> {
    match command {
        Command::Add { dest, src, alpha } => Some(Command::Copy { dest, src, alpha }),
        Command::AddRows { dest, src, rows, alpha } => Some(Command::CopyRows { dest, src, rows, alpha }),
        Command::AddRowsMulti { dest, rows, alpha } => Some(Command::CopyRowsMulti { dest, rows, alpha }),
        Command::AddToRowsMulti { src, rows, alpha: 1.0 } => Some(Command::CopyToRowsMulti { src, rows }),
        _ => None,
    }
}
