//! Turns additions to zeroed matrices into assignments.

use crate::analysis::{Variables, is_zeroing, submatrix_accesses};
use crate::computation::{Command, Computation};
use nnet3_base::error::Result;
use nnet3_network::Nnet;

pub fn run(nnet: &Nnet, computation: &mut Computation) -> Result<()> {
    let variables = Variables::new(computation);
    // True if an earlier command has changed a variable other than by zeroing it.
    let mut touched = vec![false; variables.count()];
    let mut accesses = Vec::new();
    for c in 0..computation.commands.len() {
        let command = computation.commands[c];
        if is_zeroing(&command) {
            continue;
        }
        accesses.clear();
        submatrix_accesses(nnet, computation, &command, &mut accesses);
        if let Some(assignment) = assignment(command) {
            let mut written = accesses.iter().filter(|(_, kind)| kind.writes());
            if written.all(|&(s, _)| variables.of(s).all(|v| !touched[v])) {
                computation.commands[c] = assignment;
            }
        }
        accesses.iter().for_each(|&(s, _)| variables.for_each(s, |v| touched[v] = true));
    }
    Ok(())
}

/// Returns the assignment that corresponds to an addition.
fn assignment(command: Command) -> Option<Command> {
    match command {
        Command::Add { dest, src, alpha } => Some(Command::Copy { dest, src, alpha }),
        Command::AddRows { dest, src, rows, alpha } => Some(Command::CopyRows { dest, src, rows, alpha }),
        Command::AddRowsMulti { dest, rows, alpha } => Some(Command::CopyRowsMulti { dest, rows, alpha }),
        Command::AddToRowsMulti { src, rows, alpha: 1.0 } => Some(Command::CopyToRowsMulti { src, rows }),
        _ => None,
    }
}
