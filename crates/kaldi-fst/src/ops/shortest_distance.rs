//! Costs of cheapest paths.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::error::{Error, Result};
use crate::fst::{Arc, Fst, StateId};
use crate::ops::components::Components;
use crate::ops::order::topological_order;
use crate::ops::reverse::reverse;

/// Distances that get smaller by at most this count as equal, as in OpenFst.
const DELTA: f32 = 1e-6;

/// Returns the cost of the cheapest path from the start to each state. The cost of an unreachable state is infinite.
///
/// Fails for a cycle of negative cost, because then there is no cheapest path. The error names one of its states.
pub fn distances_from_start(fst: &Fst) -> Result<Vec<f32>> {
    let mut distances = vec![f32::INFINITY; fst.states.len()];
    let Some(start) = fst.start else { return Ok(distances) };
    distances[start as usize] = 0.0;
    if let Ok(order) = topological_order(fst) {
        for s in order {
            relax(fst, s, &mut distances, 0.0, |_, _| ());
        }
    } else if fst.states.iter().flat_map(|state| &state.arcs).all(|arc| arc.weight >= 0.0) {
        by_distance(fst, start, &mut distances);
    } else {
        in_rounds(fst, [start].into(), &mut distances, DELTA)?;
    }
    Ok(distances)
}

/// Returns the cost of the cheapest path from each state to an end, the final cost included. The cost is infinite
/// without such a path.
pub fn distances_to_end(fst: &Fst) -> Result<Vec<f32>> {
    let distances = distances_from_start(&reverse(fst)).map_err(|error| match error {
        // The reversed FST has another start before all states.
        Error::NegativeCycle { state } => Error::NegativeCycle { state: state.saturating_sub(1) },
        other => other,
    })?;
    Ok(distances.get(1..).unwrap_or_default().to_vec())
}

/// Returns an error if arcs that pass the filter form a cycle with a cost below -`delta`.
pub(super) fn check_cycles(fst: &Fst, delta: f32, filter: impl Fn(&Arc) -> bool) -> Result<()> {
    let negative = |arc: &Arc| filter(arc) && arc.weight < 0.0;
    if !fst.states.iter().flat_map(|state| &state.arcs).any(negative) {
        return Ok(());
    }
    let mut filtered = fst.clone();
    filtered.states.iter_mut().for_each(|state| state.arcs.retain(&filter));
    let components = Components::of(&filtered);
    for (s, state) in filtered.states.iter_mut().enumerate() {
        state.arcs.retain(|arc| components.same(s, arc.next as usize));
    }
    let sources = filtered.numbered().filter(|(_, state)| state.arcs.iter().any(|arc| arc.weight < 0.0));
    let sources: VecDeque<StateId> = sources.map(|(s, _)| s).collect();
    let mut distances = vec![0.0; filtered.states.len()];
    in_rounds(&filtered, sources, &mut distances, delta)
}

/// Calls `changed` for each state with a distance that the arcs of `s` lower by more than `delta`.
fn relax(fst: &Fst, s: StateId, distances: &mut [f32], delta: f32, mut changed: impl FnMut(StateId, f32)) {
    let own = distances[s as usize];
    if own == f32::INFINITY {
        return;
    }
    for arc in &fst.state(s).arcs {
        let distance = own + arc.weight;
        let known = &mut distances[arc.next as usize];
        if distance + delta < *known {
            *known = distance;
            changed(arc.next, distance);
        }
    }
}

/// A cost as a key of a heap.
#[derive(PartialEq, Clone, Copy)]
pub(super) struct Cost(pub f32);

impl Eq for Cost {}

impl Ord for Cost {
    fn cmp(&self, other: &Cost) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Cost) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Goes from the nearest states to those further away (Dijkstra); no cost is negative.
fn by_distance(fst: &Fst, start: StateId, distances: &mut [f32]) {
    let mut heap = BinaryHeap::from([Reverse((Cost(0.0), start))]);
    while let Some(Reverse((Cost(distance), s))) = heap.pop() {
        if distance == distances[s as usize] {
            relax(fst, s, distances, 0.0, |next, distance| heap.push(Reverse((Cost(distance), next))));
        }
    }
}

/// Looks at states again as often as their distances change (Bellman and Ford). A state that waits more often than there are
/// states is on a negative cycle, or behind one.
fn in_rounds(fst: &Fst, mut queue: VecDeque<StateId>, distances: &mut [f32], delta: f32) -> Result<()> {
    let mut waits = vec![false; distances.len()];
    let mut times = vec![0; distances.len()];
    queue.iter().for_each(|&s| waits[s as usize] = true);
    while let Some(s) = queue.pop_front() {
        waits[s as usize] = false;
        times[s as usize] += 1;
        if times[s as usize] > distances.len() {
            return Err(Error::NegativeCycle { state: s });
        }
        relax(fst, s, distances, delta, |next, _| {
            if !std::mem::replace(&mut waits[next as usize], true) {
                queue.push_back(next);
            }
        });
    }
    Ok(())
}
