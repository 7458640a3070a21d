//! Finds the commands between which each matrix has storage.

use crate::computation::{Command, Computation, MatrixId, SubmatrixId};
use nnet3_base::error::{Error, Result};

/// The life of a matrix.
#[derive(Clone, Copy, Debug, Default)]
pub struct Life {
    /// The command from which on it has storage: an allocation, a swap, or being supplied by the user.
    pub allocate: Option<usize>,
    /// The command that takes its storage away.
    pub deallocate: Option<usize>,
    pub is_input: bool,
    pub is_output: bool,
}

/// Finds the life of each matrix. It is an error if one is allocated or freed twice, or by a sub-matrix that is not
/// the whole of it.
pub fn lives(computation: &Computation) -> Result<Vec<Life>> {
    let mut out = vec![Life::default(); computation.matrices.len()];
    for (c, &command) in computation.commands.iter().enumerate() {
        let whole = |s: SubmatrixId| match computation.is_whole(s) {
            true => Ok(computation.matrix_of(s)),
            false => Err(Error::computation(format!(
                "command c{c} resizes or exchanges a part of matrix m{}, not the whole",
                computation.matrix_of(s)
            ))),
        };
        match command {
            Command::Allocate { matrix } => set_allocated(&mut out, whole(matrix)?, c)?,
            Command::Deallocate { matrix } => set_deallocated(&mut out, whole(matrix)?, c)?,
            Command::Swap { first, second } => {
                set_allocated(&mut out, whole(first)?, c)?;
                set_deallocated(&mut out, whole(second)?, c)?;
            }
            Command::AcceptInput { matrix, .. } => {
                let life = &mut out[whole(matrix)?.index()];
                life.is_input = true;
                life.allocate.get_or_insert(c);
            }
            Command::ProvideOutput { matrix, .. } => out[whole(matrix)?.index()].is_output = true,
            _ => {}
        }
    }
    Ok(out)
}

fn set_allocated(lives: &mut [Life], m: MatrixId, c: usize) -> Result<()> {
    match lives[m.index()].allocate.replace(c) {
        Some(earlier) => Err(Error::computation(format!(
            "command c{c} allocates matrix m{m}, which c{earlier} has allocated already"
        ))),
        None => Ok(()),
    }
}

fn set_deallocated(lives: &mut [Life], m: MatrixId, c: usize) -> Result<()> {
    match lives[m.index()].deallocate.replace(c) {
        Some(earlier) => Err(Error::computation(format!(
            "command c{c} frees matrix m{m}, which c{earlier} has freed already"
        ))),
        None => Ok(()),
    }
}
