//! Numbering the states so that arcs lead to higher numbers.

use crate::error::{Error, Result};
use crate::fst::{Fst, StateId};
use crate::weight::Algebra;

/// Progress of a depth-first search at a state.
#[derive(Clone, Copy, PartialEq)]
enum Progress {
    Unseen,
    Open,
    Done,
}

/// Renumbers the states in reverse finishing order of a depth-first search, as OpenFst's `TopSort`. The search begins
/// at the start, then at unvisited states. Cycles are an error.
pub fn topological_sort<W: Algebra>(fst: &mut Fst<W>) -> Result<()> {
    let count = fst.states.len();
    let mut progress = vec![Progress::Unseen; count];
    let mut left = Vec::with_capacity(count);
    let mut path: Vec<(StateId, usize)> = Vec::new();
    for root in fst.start.into_iter().chain(0..count as StateId) {
        if progress[root as usize] == Progress::Unseen {
            progress[root as usize] = Progress::Open;
            path.push((root, 0));
        }
        while let Some((state, position)) = path.last_mut() {
            let Some(arc) = fst.states[*state as usize].arcs.get(*position) else {
                progress[*state as usize] = Progress::Done;
                left.push(*state);
                path.pop();
                continue;
            };
            *position += 1;
            match progress[arc.next as usize] {
                Progress::Open => return Err(Error::Cyclic { state: arc.next }),
                Progress::Done => {}
                Progress::Unseen => {
                    progress[arc.next as usize] = Progress::Open;
                    path.push((arc.next, 0));
                }
            }
        }
    }
    let mut numbers = vec![0; count];
    for (number, &state) in (0..).zip(left.iter().rev()) {
        numbers[state as usize] = number;
    }
    let mut states: Vec<_> =
        left.iter().rev().map(|&state| std::mem::take(&mut fst.states[state as usize])).collect();
    for arc in states.iter_mut().flat_map(|state| &mut state.arcs) {
        arc.next = numbers[arc.next as usize];
    }
    let start = fst.start.map(|start| numbers[start as usize]);
    *fst = Fst { start, states };
    Ok(())
}
