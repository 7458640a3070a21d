//! Orders of states, and how many labels lead to each.

use crate::error::{Error, Result};
use crate::fst::{Arc, EPSILON, Fst, StateId};
use crate::ops::components::Components;
use crate::weight::Algebra;

/// Renumbers the states in the order in which a breadth-first search from the start meets them. In an FST in which all
/// paths to a state have equally many arcs, the states are then sorted by that number.
///
/// Every state must be reachable from the start.
pub fn breadth_first<W: Algebra>(fst: &mut Fst<W>) -> Result<()> {
    let start = fst.start.ok_or(Error::Empty)?;
    let mut order = vec![start];
    let mut numbers: Vec<Option<StateId>> = vec![None; fst.states.len()];
    numbers[start as usize] = Some(0);
    let mut done = 0;
    while let Some(&state) = order.get(done) {
        for arc in &fst.state(state).arcs {
            let number = &mut numbers[arc.next as usize];
            if number.is_none() {
                *number = Some(order.len() as StateId);
                order.push(arc.next);
            }
        }
        done += 1;
    }
    if let Some(missing) = numbers.iter().position(Option::is_none) {
        return Err(Error::NotConnected { state: missing as StateId });
    }
    let mut states: Vec<_> = order.iter().map(|&s| std::mem::take(fst.state_mut(s))).collect();
    for arc in states.iter_mut().flat_map(|state| &mut state.arcs) {
        arc.next = numbers[arc.next as usize].unwrap_or(arc.next);
    }
    *fst = Fst { start: Some(0), states };
    Ok(())
}

/// The states in an order in which arcs that pass the filter lead forwards. The error names a state on a cycle of such
/// arcs.
pub(super) fn filtered_order<W: Algebra>(
    fst: &Fst<W>,
    filter: impl Fn(&Arc<W>) -> bool,
) -> std::result::Result<Vec<StateId>, StateId> {
    let mut incoming = vec![0usize; fst.states.len()];
    let arcs = |s: StateId| fst.state(s).arcs.iter().filter(|arc| filter(arc));
    for s in 0..fst.states.len() as StateId {
        arcs(s).for_each(|arc| incoming[arc.next as usize] += 1);
    }
    let mut order: Vec<StateId> =
        (0..incoming.len() as StateId).filter(|&s| incoming[s as usize] == 0).collect();
    let mut done = 0;
    while let Some(&s) = order.get(done) {
        for arc in arcs(s) {
            let left = &mut incoming[arc.next as usize];
            *left -= 1;
            if *left == 0 {
                order.push(arc.next);
            }
        }
        done += 1;
    }
    // The remaining states are on a cycle or behind one; going back along arcs from any of them ends on a cycle.
    if order.len() == fst.states.len() {
        return Ok(order);
    }
    let filtered = Fst {
        start: fst.start,
        states: (0..fst.states.len() as StateId)
            .map(|s| crate::State { arcs: arcs(s).cloned().collect(), ..Default::default() })
            .collect(),
    };
    let components = Components::of(&filtered);
    let state = (0..filtered.states.len()).find(|&s| components.cyclic(&filtered, s)).unwrap_or(0);
    Err(state as StateId)
}

/// The states in an order in which all arcs lead forwards.
pub fn topological_order<W: Algebra>(fst: &Fst<W>) -> Result<Vec<StateId>> {
    filtered_order(fst, |_| true).map_err(|state| Error::Cyclic { state })
}

/// Returns the number of labels from the start to each state, and to the final states. All paths to one state must have
/// the same number. The number is `None` for unreachable states. The FST must be acyclic.
pub fn state_times<W: Algebra>(fst: &Fst<W>) -> Result<(Vec<Option<usize>>, usize)> {
    let start = fst.start.ok_or(Error::Empty)?;
    let mut times = vec![None; fst.states.len()];
    times[start as usize] = Some(0);
    let mut length = None;
    for s in topological_order(fst)? {
        let Some(time) = times[s as usize] else { continue };
        let state = fst.state(s);
        for arc in &state.arcs {
            let next = time + usize::from(arc.ilabel != EPSILON);
            let known = *times[arc.next as usize].get_or_insert(next);
            if known != next {
                return Err(Error::UnequalPaths { state: arc.next, first: known, second: next });
            }
        }
        if state.is_final() {
            let known = *length.get_or_insert(time);
            if known != time {
                return Err(Error::UnequalLengths { first: known, second: time });
            }
        }
    }
    let length = length.ok_or(Error::NotConnected { state: start })?;
    Ok((times, length))
}
