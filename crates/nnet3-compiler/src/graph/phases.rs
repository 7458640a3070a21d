//! Cindexes in groups that can be computed together, in order.

use super::{CindexId, ComputationGraph};
use nnet3_base::error::{Error, Result};
use nnet3_base::index::print_cindex;
use nnet3_network::Nnet;

/// Returns the phases of each segment; a phase is a list of ascending ids. Inputs come first. `epochs` has the epoch of
/// each node.
pub fn phases(nnet: &Nnet, epochs: &[usize], graph: &ComputationGraph) -> Result<Vec<Vec<Vec<CindexId>>>> {
    let count = 1 + epochs.iter().max().map_or(0, |&m| m + 1);
    let mut nodes_in_epoch = vec![0; count];
    epochs.iter().for_each(|&e| nodes_in_epoch[e + 1] += 1);
    let epoch_of = |id: usize| match graph.is_input[id] {
        true => 0,
        false => epochs[graph.cindexes[id].node.index()] + 1,
    };
    let mut out = Vec::new();
    for segment in graph.segments() {
        let mut by_epoch: Vec<Vec<CindexId>> = vec![Vec::new(); count];
        // Without recurrences, the ids of a node follow each other.
        let mut first = segment.start;
        while first < segment.end {
            let alike = |&id: &usize| {
                graph.cindexes[id].node == graph.cindexes[first].node
                    && graph.is_input[id] == graph.is_input[first]
            };
            let end = first + (first..segment.end).take_while(alike).count();
            by_epoch[epoch_of(first)].extend(first as CindexId..end as CindexId);
            first = end;
        }
        let mut segment_phases = Vec::new();
        for (epoch, ids) in by_epoch.into_iter().enumerate() {
            if ids.is_empty() {
                continue;
            }
            if nodes_in_epoch[epoch] <= 1 {
                segment_phases.push(ids);
            } else {
                let inside =
                    |id: CindexId| segment.contains(&(id as usize)) && epoch_of(id as usize) == epoch;
                split_recurrence(graph, segment.start, ids, &inside, &mut segment_phases)
                    .map_err(|circle| explain_circle(nnet, graph, &circle))?;
            }
        }
        out.push(segment_phases);
    }
    Ok(out)
}

const END: u32 = u32::MAX;

/// Orders the ids of one recurrence by their dependencies on each other. The error is a cycle: each id needs the next
/// one, and the last needs the first.
fn split_recurrence(
    graph: &ComputationGraph,
    start: usize,
    ids: Vec<CindexId>,
    inside: &dyn Fn(CindexId) -> bool,
    out: &mut Vec<Vec<CindexId>>,
) -> std::result::Result<(), Vec<CindexId>> {
    let last = ids.iter().max().map_or(start, |&m| m as usize + 1);
    let mut waiting_for = vec![0u32; last - start];
    // A linked list for each id: `first_dependent` has the first item; an item is an id and the place of the next item.
    let mut first_dependent = vec![END; last - start];
    let mut dependents: Vec<(CindexId, u32)> = Vec::with_capacity(2 * ids.len());
    for &id in &ids {
        for &d in graph.dependencies(id) {
            if inside(d) {
                waiting_for[id as usize - start] += 1;
                let first = &mut first_dependent[d as usize - start];
                dependents.push((id, *first));
                *first = dependents.len() as u32 - 1;
            }
        }
    }
    let mut phase: Vec<CindexId> =
        ids.iter().copied().filter(|&id| waiting_for[id as usize - start] == 0).collect();
    while !phase.is_empty() {
        let mut next = Vec::with_capacity(phase.len());
        for &id in &phase {
            let mut item = first_dependent[id as usize - start];
            while item != END {
                let (dependent, following) = dependents[item as usize];
                item = following;
                let waiting = &mut waiting_for[dependent as usize - start];
                *waiting -= 1;
                if *waiting == 0 {
                    next.push(dependent);
                }
            }
        }
        next.sort_unstable();
        out.push(std::mem::replace(&mut phase, next));
    }
    // A cindex that still waits depends on another one that waits. Following these dependencies leads into a cycle.
    let waits = |id: &CindexId| inside(*id) && waiting_for[*id as usize - start] > 0;
    let Some(first) = ids.into_iter().find(waits) else { return Ok(()) };
    let mut path = vec![first];
    loop {
        let last = path[path.len() - 1];
        let next =
            graph.dependencies(last).iter().copied().find(waits).expect("waiting for something that waits");
        if let Some(begin) = path.iter().position(|&id| id == next) {
            return Err(path.split_off(begin));
        }
        path.push(next);
    }
}

fn explain_circle(nnet: &Nnet, graph: &ComputationGraph, circle: &[CindexId]) -> Error {
    const MOST_NAMES: usize = 12;
    let name = |&id: &CindexId| print_cindex(graph.cindexes[id as usize], nnet.node_names());
    let mut names: Vec<String> = circle.iter().take(MOST_NAMES).map(name).collect();
    if circle.len() > MOST_NAMES {
        names.push("…".to_string());
    }
    names.extend(circle.first().map(name));
    Error::NotComputable(format!("the nodes depend on each other in a cycle: {}", names.join(", ")))
}
