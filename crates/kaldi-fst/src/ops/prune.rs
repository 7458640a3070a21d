//! Pruning: removes arcs and states that only expensive paths use.

use super::{connect, distances_from_start, distances_to_end};
use crate::error::Result;
use crate::fst::Fst;

/// Keeps the arcs and final weights of paths that cost at most `beam` more than the cheapest path. With `most_states`,
/// it keeps only this number of states: the states on the cheapest paths.
pub fn prune(fst: &mut Fst, beam: f32, most_states: Option<usize>) -> Result<()> {
    let (from_start, to_end) = (distances_from_start(fst)?, distances_to_end(fst)?);
    let Some(start) = fst.start else { return Ok(()) };
    let total = |s: usize| from_start[s] + to_end[s];
    let limit = to_end[start as usize] + beam;
    let mut kept: Vec<usize> =
        (0..fst.states.len()).filter(|&s| total(s) < f32::INFINITY && total(s) <= limit).collect();
    if let Some(most) = most_states {
        // Of equal states, those nearer to the start: without them the others cannot be reached.
        let key = |&s: &usize| (total(s), from_start[s]);
        kept.sort_by(|a, b| {
            let ((total_a, near_a), (total_b, near_b)) = (key(a), key(b));
            total_a.total_cmp(&total_b).then(near_a.total_cmp(&near_b))
        });
        kept.truncate(most);
    }
    let mut keeps = vec![false; fst.states.len()];
    kept.into_iter().for_each(|s| keeps[s] = true);
    for (s, state) in fst.states.iter_mut().enumerate() {
        let before = from_start[s];
        if !keeps[s] || before + state.final_weight > limit {
            state.final_weight = f32::INFINITY;
        }
        state.arcs.retain(|arc| {
            let next = arc.next as usize;
            keeps[s] && keeps[next] && before + arc.weight + to_end[next] <= limit
        });
    }
    connect(fst);
    Ok(())
}
