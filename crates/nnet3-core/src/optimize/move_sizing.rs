//! Matrices are allocated just before their first use and freed just after their last (spec compiler §6.10).

use super::analysis::{MatrixAnalysis, is_zeroing};
use crate::computation::{Command, Computation, MatrixId, SubmatrixId};
use crate::error::Result;
use crate::nnet::Nnet;

/// A zeroing right after its allocation moves with it. Not for computations that have their goto already.
pub fn run(nnet: &Nnet, computation: &mut Computation) -> Result<()> {
    let analysis = MatrixAnalysis::new(nnet, computation)?;
    let count = computation.commands.len();
    let mut keys: Vec<usize> = (0..count).map(|c| 3 * c).collect();
    let mut zeroed_with: Vec<Option<usize>> = vec![None; count];
    for (m, life) in analysis.lives.iter().enumerate().skip(1) {
        let accesses = analysis.accesses(MatrixId::from(m));
        if let Some(c) = life.allocate
            && let Command::Allocate { matrix } = computation.commands[c]
        {
            let paired = computation.commands.get(c + 1).is_some_and(|next| zeroes(next, matrix));
            zeroed_with[c] = paired.then_some(c + 1);
            let first = accesses.iter().map(|a| a.command()).find(|&a| zeroed_with[c] != Some(a));
            if let Some(first) = first {
                keys[c] = 3 * first - 1;
            }
        }
        if let (Some(c), Some(last)) = (life.deallocate, accesses.last())
            && let Command::Deallocate { .. } = computation.commands[c]
        {
            keys[c] = 3 * last.command() + 1;
        }
    }
    let mut moves_along = vec![false; count];
    zeroed_with.iter().flatten().for_each(|&c| moves_along[c] = true);
    let mut order: Vec<usize> = (0..count).filter(|&c| !moves_along[c]).collect();
    order.sort_by_key(|&c| (keys[c], c));
    let old = std::mem::take(&mut computation.commands);
    for c in order {
        computation.commands.push(old[c]);
        computation.commands.extend(zeroed_with[c].map(|zeroing| old[zeroing]));
    }
    Ok(())
}

fn zeroes(command: &Command, matrix: SubmatrixId) -> bool {
    matches!(command, Command::SetConst { dest, .. } if *dest == matrix) && is_zeroing(command)
}
