//! Topological order.

use kaldi_fst::{Fst, StateId, Weight};

use crate::error::{Error, Result};

/// Renumbers the states so that all arcs lead to higher numbers. The order is the reverse finishing order of a
/// depth-first search from the start, as in OpenFst. Returns false and leaves the lattice unchanged if there is a
/// cycle.
pub fn top_sort<W: Weight>(fst: &mut Fst<W>) -> bool {
    if is_sorted(fst) {
        return true;
    }
    let Some(order) = depth_first(fst) else { return false };
    let mut numbers = vec![0; fst.states.len()];
    for (number, &s) in order.iter().enumerate() {
        numbers[s as usize] = number as StateId;
    }
    let mut states: Vec<_> = order.iter().map(|&s| std::mem::take(fst.state_mut(s))).collect();
    for arc in states.iter_mut().flat_map(|state| &mut state.arcs) {
        arc.next = numbers[arc.next as usize];
    }
    *fst = Fst { start: fst.start.map(|start| numbers[start as usize]), states };
    true
}

/// True if all arcs lead to higher numbers.
pub fn is_sorted<W: Weight>(fst: &Fst<W>) -> bool {
    fst.numbered().all(|(s, state)| state.arcs.iter().all(|arc| arc.next > s))
}

/// Sorts, or fails if there is a cycle.
pub fn sort<W: Weight>(fst: &mut Fst<W>) -> Result<()> {
    if top_sort(fst) { Ok(()) } else { Err(Error::Cyclic) }
}

/// Returns the states in a topological order: the reverse of the order in which a depth-first search leaves them. The search begins
/// with the start and follows arcs in their order (as OpenFst's does); states that it does not reach come last. `None` if there is a
/// cycle.
pub fn depth_first<W: Weight>(fst: &Fst<W>) -> Option<Vec<StateId>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; fst.states.len()];
    let mut order = Vec::with_capacity(fst.states.len());
    let mut path: Vec<(StateId, usize)> = Vec::new();
    let roots = fst.start.into_iter().chain(0..fst.states.len() as StateId);
    for root in roots {
        if marks[root as usize] != Mark::New {
            continue;
        }
        marks[root as usize] = Mark::Open;
        path.push((root, 0));
        while let Some((s, at)) = path.last_mut() {
            let Some(arc) = fst.state(*s).arcs.get(*at) else {
                marks[*s as usize] = Mark::Done;
                order.push(*s);
                path.pop();
                continue;
            };
            *at += 1;
            match marks[arc.next as usize] {
                Mark::New => {
                    marks[arc.next as usize] = Mark::Open;
                    path.push((arc.next, 0));
                }
                Mark::Open => return None,
                Mark::Done => {}
            }
        }
    }
    order.reverse();
    Some(order)
}
