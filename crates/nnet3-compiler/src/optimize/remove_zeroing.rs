//! Matrices that are written before they are read need not be set to zero first.

use crate::analysis::{AccessKind, CommandAccesses, Variables, is_zeroing};
use crate::computation::{Command, Computation, MatrixId};
use nnet3_base::error::Result;
use nnet3_network::Nnet;

/// The first two commands that access a variable.
#[derive(Clone, Copy, Default)]
struct Beginning {
    first: Option<u32>,
    second: Option<(u32, AccessKind)>,
}

impl Beginning {
    fn record(&mut self, command: u32, kind: AccessKind) {
        match (self.first, &mut self.second) {
            (None, _) => self.first = Some(command),
            (Some(first), second @ None) if first != command => *second = Some((command, kind)),
            (_, Some((second, known))) if *second == command => *known = known.with(kind),
            _ => {}
        }
    }
}

/// Leaves no-ops behind.
pub fn run(nnet: &Nnet, computation: &mut Computation) -> Result<()> {
    let variables = Variables::new(computation);
    let mut beginnings = vec![Beginning::default(); variables.count()];
    CommandAccesses::new(nnet, computation).for_each(|c, s, kind| {
        variables.for_each(s, |v| beginnings[v].record(c as u32, kind));
    });
    let mut is_output = vec![false; computation.matrices.len()];
    for command in &computation.commands {
        if let Command::ProvideOutput { matrix, .. } = *command {
            is_output[computation.matrix_of(matrix).index()] = true;
        }
    }
    for (m, &is_output) in is_output.iter().enumerate().skip(1) {
        let beginnings = &beginnings[variables.of_matrix(MatrixId::from(m))];
        let Some(first) = beginnings.iter().filter_map(|b| b.first).min() else {
            continue;
        };
        let unneeded = |b: &Beginning| match b.second {
            Some((_, kind)) => kind == AccessKind::Write,
            None => !is_output,
        };
        let first = &mut computation.commands[first as usize];
        if is_zeroing(first) && beginnings.iter().all(unneeded) {
            *first = Command::NoOp;
        }
    }
    Ok(())
}
