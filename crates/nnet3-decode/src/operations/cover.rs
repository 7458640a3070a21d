//! Paths that together go from every state of a lattice to every state that follows it.

use std::collections::HashSet;

use kaldi_fst::{EPSILON, State, StateId};

use crate::error::{Error, Result};
use crate::lattice::CompactLattice;
use crate::order;
use crate::path::costs_to_end;
use crate::weight::CompactLatticeWeight;

/// A path of a lattice.
#[derive(Debug, Clone, PartialEq)]
pub struct CoverPath {
    /// Words other than epsilon.
    pub words: Vec<i32>,
    /// The states, from the start to the end.
    pub states: Vec<StateId>,
    pub cost: f64,
}

/// Takes for each arc the best path through it, unless another path of the cover visits the same two states; sorts by
/// cost. A path is a sequence of states with the words of the cheapest arcs between them. If an arc has a cheaper
/// parallel arc, the path has that arc's words, as in Kaldi. Arcs without a path to an end are left out. The lattice is
/// sorted first.
///
/// # Errors
/// The lattice is empty or has a cycle.
pub fn path_cover(lattice: &mut CompactLattice) -> Result<Vec<CoverPath>> {
    order::sort(lattice)?;
    let start = lattice.start.ok_or(Error::Empty)?;
    let count = lattice.states.len();
    // The cost of the best way to each state, and its last arc: the state before, and the position there.
    let mut forward = vec![f64::INFINITY; count];
    let mut before: Vec<Option<(StateId, usize)>> = vec![None; count];
    forward[start as usize] = 0.0;
    for (s, state) in lattice.numbered() {
        for (position, arc) in state.arcs.iter().enumerate() {
            let cost = forward[s as usize] + arc.weight.weight.cost();
            if cost < forward[arc.next as usize] {
                (forward[arc.next as usize], before[arc.next as usize]) = (cost, Some((s, position)));
            }
        }
    }
    let backward = costs_to_end(lattice);
    // The first arc of the best way from each state to an end. `None`: to end there is best.
    let best_way_on = |state: &State<CompactLatticeWeight>| {
        let (mut best, mut first) = (state.final_weight.weight.cost(), None);
        for (position, arc) in state.arcs.iter().enumerate() {
            let cost = arc.weight.weight.cost() + backward[arc.next as usize];
            if cost < best {
                (best, first) = (cost, Some(position));
            }
        }
        first
    };
    let best_next: Vec<Option<usize>> = lattice.states.iter().map(best_way_on).collect();
    let target = |(s, position): (StateId, usize)| lattice.state(s).arcs[position].next;
    // Pairs of states.
    let mut covered: HashSet<(StateId, StateId)> = HashSet::new();
    let mut paths = Vec::new();
    for (s, state) in lattice.numbered() {
        for (position, arc) in state.arcs.iter().enumerate() {
            let cost = forward[s as usize] + arc.weight.weight.cost() + backward[arc.next as usize];
            if cost == f64::INFINITY {
                continue;
            }
            let is_best = best_next[s as usize].is_some_and(|position| target((s, position)) == arc.next);
            let is_covered =
                is_best && before[s as usize].is_some_and(|(from, _)| covered.contains(&(from, s)));
            covered.insert((s, arc.next));
            if is_covered {
                continue;
            }
            let mut arcs = vec![(s, cheapest_parallel(state, position))];
            while let Some(arc) = arcs.last().and_then(|&(s, _)| before[s as usize]) {
                arcs.push(arc);
            }
            arcs.reverse();
            let mut at = arc.next;
            while let Some(position) = best_next[at as usize] {
                arcs.push((at, position));
                at = target((at, position));
            }
            let words = arcs.iter().map(|&(s, position)| lattice.state(s).arcs[position].ilabel);
            paths.push(CoverPath {
                words: words.filter(|&word| word != EPSILON).collect(),
                states: arcs.iter().map(|&(s, _)| s).chain([at]).collect(),
                cost,
            });
        }
    }
    paths.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    Ok(paths)
}

/// The first of the cheapest arcs with the same target as this one.
fn cheapest_parallel(state: &State<CompactLatticeWeight>, position: usize) -> usize {
    let next = state.arcs[position].next;
    let parallel = state.arcs.iter().enumerate().filter(|(_, arc)| arc.next == next);
    let cheapest =
        parallel.min_by(|(_, a), (_, b)| a.weight.weight.cost().total_cmp(&b.weight.weight.cost()));
    cheapest.map_or(position, |(position, _)| position)
}
