//! Pruning: removes arcs and states that only expensive paths use.

use super::connect::keep_accessible;
use super::{distances_from_start, distances_to_end, shortest_paths, union_of_paths};
use crate::error::Result;
use crate::fst::{Fst, State};

/// Keeps the arcs and final weights of paths that cost at most `beam` more than the cheapest path. With `most_states`,
/// it keeps only this number of states: the states on the cheapest paths.
///
/// As in OpenFst, sums of both directions are compared, and states stay that the start still leads to. The last digits of the
/// sums may differ, so that OpenFst can lose all paths with a beam of 0. The cheapest path is the result here then, unless
/// `most_states` is too small for one.
pub fn prune(fst: &mut Fst, beam: f32, most_states: Option<usize>) -> Result<()> {
    let (from_start, to_end) = (distances_from_start(fst)?, distances_to_end(fst)?);
    let Some(start) = fst.start else { return Ok(()) };
    let total = |s: usize| from_start[s] + to_end[s];
    if beam < 0.0 || most_states == Some(0) || to_end[start as usize] == f32::INFINITY {
        *fst = Fst::default();
        return Ok(());
    }
    let limit = to_end[start as usize] + beam;
    let mut keeps = vec![true; fst.states.len()];
    if let Some(most) = most_states {
        let mut kept: Vec<usize> =
            (0..fst.states.len()).filter(|&s| total(s) < f32::INFINITY && total(s) <= limit).collect();
        // Of equal states, those nearer to the start: without them the others cannot be reached.
        let key = |&s: &usize| (total(s), from_start[s]);
        kept.sort_by(|a, b| {
            let ((total_a, near_a), (total_b, near_b)) = (key(a), key(b));
            total_a.total_cmp(&total_b).then(near_a.total_cmp(&near_b))
        });
        kept.truncate(most);
        keeps.fill(false);
        kept.into_iter().for_each(|s| keeps[s] = true);
    }
    let mut pruned = fst.clone();
    for (s, state) in pruned.states.iter_mut().enumerate() {
        let before = from_start[s];
        if !keeps[s] || before + state.final_weight > limit {
            state.final_weight = f32::INFINITY;
        }
        state.arcs.retain(|arc| {
            let next = arc.next as usize;
            keeps[s] && keeps[next] && before + arc.weight + to_end[next] <= limit
        });
    }
    keep_accessible(&mut pruned);
    let lost = most_states.is_none() && !pruned.states.iter().any(State::is_final);
    *fst = if lost { union_of_paths(&shortest_paths(fst, 1, f32::INFINITY)?) } else { pruned };
    Ok(())
}
