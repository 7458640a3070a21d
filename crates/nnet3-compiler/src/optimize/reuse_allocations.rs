//! A matrix that is allocated after another of its shape was freed takes over the other's storage.

use super::renumber::remove_no_ops;
use crate::computation::{Command, Computation, MatrixInfo, SubmatrixId};

const END: usize = usize::MAX;

/// Allocations in chains, each of a few shapes, the latest added first.
struct Allocations {
    chains: usize,
    /// The first command of each chain, then for each command the next one of its chain.
    links: Vec<usize>,
}

impl Allocations {
    fn new(chains: usize, commands: usize) -> Allocations {
        Allocations { chains, links: vec![END; chains + commands] }
    }

    fn chain(&self, shape: MatrixInfo) -> usize {
        (31 * shape.rows + shape.cols) % self.chains
    }

    fn add(&mut self, command: usize, shape: MatrixInfo) {
        let chain = self.chain(shape);
        self.links[self.chains + command] = std::mem::replace(&mut self.links[chain], command);
    }

    /// Takes away the latest one that `fits`, from the chain of its shape.
    fn take(&mut self, shape: MatrixInfo, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let mut link = self.chain(shape);
        while self.links[link] != END && !fits(self.links[link]) {
            link = self.chains + self.links[link];
        }
        let found = Some(self.links[link]).filter(|&command| command != END)?;
        self.links[link] = self.links[self.chains + found];
        Some(found)
    }
}

/// The last deallocation chooses first; each takes the earliest allocation that is left after it.
pub fn run(computation: &mut Computation) {
    let Computation { commands, matrices, submatrices, .. } = computation;
    let shape = |s: SubmatrixId| matrices[submatrices[s.index()].matrix.index()];
    let mut allocations = Allocations::new(matrices.len(), commands.len());
    for c in (0..commands.len()).rev() {
        match commands[c] {
            Command::Allocate { matrix } => allocations.add(c, shape(matrix)),
            Command::Deallocate { matrix: second } => {
                let wanted = shape(second);
                let fits =
                    |a: usize| matches!(commands[a], Command::Allocate { matrix } if shape(matrix) == wanted);
                if let Some(a) = allocations.take(wanted, fits)
                    && let Command::Allocate { matrix: first } = commands[a]
                {
                    commands[c] = Command::NoOp;
                    commands[a] = Command::Swap { first, second };
                }
            }
            _ => {}
        }
    }
    remove_no_ops(computation);
}
