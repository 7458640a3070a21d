//! Cheapest paths.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::distances_to_end;
use super::shortest_distance::Cost;
use crate::error::Result;
use crate::fst::{Arc, EPSILON, Fst, StateId};

/// Part of a path: the parts before it, and its last arc, by position in the state that the path was in.
struct Part {
    before: Option<usize>,
    arc: Arc,
}

/// Returns the cheapest paths, at most `count`, the cheapest first: their arcs and final costs.
///
/// Paths that cost more than the cheapest one plus `beam` are left out. Fails for a cycle of negative cost.
pub fn shortest_paths(fst: &Fst, count: usize, beam: f32) -> Result<Vec<(Vec<Arc>, f32)>> {
    let mut found = Vec::new();
    let to_end = distances_to_end(fst)?;
    let Some(start) = fst.start.filter(|&start| to_end[start as usize] != f32::INFINITY) else {
        return Ok(found);
    };
    let most = to_end[start as usize] + beam;
    let mut parts: Vec<Part> = Vec::new();
    // Partial paths, by the cost of their cheapest completion. Complete paths have no state. Among paths with equal
    // costs, the older one comes first.
    let mut heap =
        BinaryHeap::from([Reverse((Cost(to_end[start as usize]), 0, Cost(0.0), Some(start), None))]);
    let mut made = 0;
    // As often as this, no state is on a cheapest path.
    let mut visits = vec![0; fst.states.len()];
    while let Some(Reverse((_, _, Cost(cost), state, last))) = heap.pop() {
        let Some(state) = state else {
            found.push(path(&parts, last, cost));
            if found.len() == count {
                break;
            }
            continue;
        };
        if visits[state as usize] == count {
            continue;
        }
        visits[state as usize] += 1;
        let data = fst.state(state);
        let mut add = |total: f32, cost: f32, state: Option<StateId>, last: Option<usize>| {
            if total < f32::INFINITY && total <= most {
                made += 1;
                heap.push(Reverse((Cost(total), made, Cost(cost), state, last)));
            }
        };
        let end = cost + data.final_weight;
        add(end, data.final_weight, None, last);
        for arc in &data.arcs {
            let cost = cost + arc.weight;
            let total = cost + to_end[arc.next as usize];
            if total < f32::INFINITY && total <= most {
                parts.push(Part { before: last, arc: *arc });
                add(total, cost, Some(arc.next), Some(parts.len() - 1));
            }
        }
    }
    Ok(found)
}

fn path(parts: &[Part], mut last: Option<usize>, end: f32) -> (Vec<Arc>, f32) {
    let mut arcs = Vec::new();
    while let Some(part) = last.and_then(|last| parts.get(last)) {
        arcs.push(part.arc);
        last = part.before;
    }
    arcs.reverse();
    (arcs, end)
}

/// Builds the FST of these paths. Each path has states of its own. Arcs without labels lead to them if there are
/// several.
pub fn union_of_paths(paths: &[(Vec<Arc>, f32)]) -> Fst {
    let mut out = Fst::default();
    if paths.is_empty() {
        return out;
    }
    let start = out.add_state();
    out.start = Some(start);
    for (arcs, end) in paths {
        let mut state = start;
        if paths.len() > 1 {
            state = out.add_state();
            out.state_mut(start).arcs.push(Arc::new(EPSILON, 0.0, state));
        }
        for arc in arcs {
            let next = out.add_state();
            out.state_mut(state).arcs.push(Arc { next, ..*arc });
            state = next;
        }
        out.state_mut(state).final_weight = *end;
    }
    out
}
