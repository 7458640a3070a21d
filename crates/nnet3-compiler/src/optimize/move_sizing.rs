//! Matrices are allocated just before their first use and freed just after their last.

use crate::analysis::{CommandAccesses, is_zeroing, lives};
use crate::computation::{Command, Computation, SubmatrixId};
use nnet3_base::error::Result;
use nnet3_network::Nnet;

/// The first two and the last command that access a matrix.
#[derive(Clone, Copy, Default)]
struct Span {
    first: Option<usize>,
    second: Option<usize>,
    last: Option<usize>,
}

impl Span {
    fn record(&mut self, command: usize) {
        if self.first.is_none() {
            self.first = Some(command);
        } else if self.second.is_none() && self.first != Some(command) {
            self.second = Some(command);
        }
        self.last = Some(command);
    }
}

/// A zeroing right after its allocation moves with it. Not for computations that have their goto already.
pub fn run(nnet: &Nnet, computation: &mut Computation) -> Result<()> {
    let mut spans = vec![Span::default(); computation.matrices.len()];
    CommandAccesses::new(nnet, computation)
        .for_each(|c, s, _| spans[computation.matrix_of(s).index()].record(c));
    let count = computation.commands.len();
    let mut keys: Vec<usize> = (0..count).map(|c| 3 * c).collect();
    let mut zeroed_with: Vec<Option<usize>> = vec![None; count];
    for (life, span) in lives(computation)?.iter().zip(&spans).skip(1) {
        if let Some(c) = life.allocate
            && let Command::Allocate { matrix } = computation.commands[c]
        {
            let paired = computation.commands.get(c + 1).is_some_and(|next| zeroes(next, matrix));
            zeroed_with[c] = paired.then_some(c + 1);
            let moves_along = paired && span.first == Some(c + 1);
            if let Some(first) = if moves_along { span.second } else { span.first } {
                keys[c] = 3 * first - 1;
            }
        }
        if let (Some(c), Some(last)) = (life.deallocate, span.last)
            && let Command::Deallocate { .. } = computation.commands[c]
        {
            keys[c] = 3 * last + 1;
        }
    }
    let mut moves_along = vec![false; count];
    zeroed_with.iter().flatten().for_each(|&c| moves_along[c] = true);
    let order = sorted_by_key(&keys, 3 * count);
    let old = std::mem::replace(&mut computation.commands, Vec::with_capacity(count));
    for c in order.into_iter().filter(|&c| !moves_along[c]) {
        computation.commands.push(old[c]);
        if let Some(zeroing) = zeroed_with[c] {
            computation.commands.push(old[zeroing]);
        }
    }
    Ok(())
}

/// Sorts 0, 1, … by their keys, all below `end`; equal keys keep their order.
fn sorted_by_key(keys: &[usize], end: usize) -> Vec<usize> {
    let mut places = vec![0; end + 1];
    keys.iter().for_each(|&key| places[key + 1] += 1);
    (1..places.len()).for_each(|key| places[key] += places[key - 1]);
    let mut order = vec![0; keys.len()];
    for (i, &key) in keys.iter().enumerate() {
        order[places[key]] = i;
        places[key] += 1;
    }
    order
}

fn zeroes(command: &Command, matrix: SubmatrixId) -> bool {
    matches!(command, Command::SetConst { dest, .. } if *dest == matrix) && is_zeroing(command)
}
