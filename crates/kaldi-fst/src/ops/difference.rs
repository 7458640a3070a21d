//! The strings of one acceptor that another one does not accept.

use rustc_hash::FxHashMap;

use super::connect;
use crate::error::{Error, Result};
use crate::fst::{Arc, EPSILON, Fst, StateId};

/// Returns the paths of `first` whose strings `second` does not accept. `connected` removes states that no path uses.
///
/// Both must be acceptors, and `second` must have no costs, no arcs without label, and no two arcs of one label from a state.
pub fn difference(first: &Fst, second: &Fst, connected: bool) -> Result<Fst> {
    first.check_acceptor()?;
    let arcs = deterministic(second)?;
    let mut out = Fst::default();
    let Some(start) = first.start else { return Ok(out) };
    // Pairs of states; without a state of the second one, no longer string is accepted there.
    let mut numbers: FxHashMap<(StateId, Option<StateId>), StateId> = FxHashMap::default();
    let mut pairs = vec![(start, second.start)];
    numbers.insert(pairs[0], 0);
    out.start = Some(0);
    let mut done = 0;
    while let Some(&(a, b)) = pairs.get(done) {
        let s = out.add_state();
        let state = first.state(a);
        if b.is_none_or(|b| !second.state(b).is_final()) {
            out.state_mut(s).final_weight = state.final_weight;
        }
        for arc in &state.arcs {
            let next = match arc.ilabel {
                EPSILON => b,
                label => b.and_then(|b| arcs.get(&(b, label)).copied()),
            };
            let pair = (arc.next, next);
            let next = *numbers.entry(pair).or_insert_with(|| {
                pairs.push(pair);
                (pairs.len() - 1) as StateId
            });
            out.state_mut(s).arcs.push(Arc { next, ..*arc });
        }
        done += 1;
    }
    if connected {
        connect(&mut out);
    }
    Ok(out)
}

/// The next states by state and label.
fn deterministic(fst: &Fst) -> Result<FxHashMap<(StateId, i32), StateId>> {
    fst.check_acceptor()?;
    let mut next = FxHashMap::default();
    for (state, data) in fst.numbered() {
        if data.is_final() && data.final_weight != 0.0 || data.arcs.iter().any(|arc| arc.weight != 0.0) {
            return Err(Error::Weighted { state });
        }
        for arc in &data.arcs {
            if arc.ilabel == EPSILON {
                return Err(Error::Epsilon { state });
            }
            if next.insert((state, arc.ilabel), arc.next).is_some() {
                return Err(Error::Nondeterministic { state, label: arc.ilabel });
            }
        }
    }
    Ok(next)
}
