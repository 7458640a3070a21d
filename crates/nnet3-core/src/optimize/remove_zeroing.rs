//! Matrices that are written before they are read need not be set to zero first (spec compiler §6.9).

use super::analysis::{AccessKind, Analysis, is_zeroing};
use crate::computation::{Command, Computation, MatrixId};
use crate::error::Result;
use crate::nnet::Nnet;

/// Leaves no-ops behind.
pub fn run(nnet: &Nnet, computation: &mut Computation) -> Result<()> {
    let analysis = Analysis::new(nnet, computation)?;
    for (m, life) in analysis.lives.iter().enumerate().skip(1) {
        let matrix = MatrixId::from(m);
        let Some(first) = analysis.first_matrix_access(matrix) else {
            continue;
        };
        if !is_zeroing(&computation.commands[first]) {
            continue;
        }
        let unneeded = |v: usize| match analysis.accesses(v).get(1) {
            Some(second) => second.kind == AccessKind::Write,
            None => !life.is_output,
        };
        if analysis.variables.of_matrix(matrix).all(unneeded) {
            computation.commands[first] = Command::NoOp;
        }
    }
    Ok(())
}
