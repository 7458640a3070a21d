//! The strings of one acceptor that another one does not accept.

use rustc_hash::FxHashMap;

use super::connect;
use crate::error::{Error, Result};
use crate::fst::{EPSILON, Fst, StateId};
use crate::state_table::{Expanded, unfold};

/// Returns the paths of `first` whose strings `second` does not accept. `connected` removes states that no path uses.
///
/// Both must be acceptors, and `second` must have no costs, no arcs without label, and no two arcs of one label from a state.
pub fn difference(first: &Fst, second: &Fst, connected: bool) -> Result<Fst> {
    first.check_acceptor()?;
    let arcs = deterministic(second)?;
    let Some(start) = first.start else { return Ok(Fst::default()) };
    // Pairs of states; without a state of the second one, no longer string is accepted there.
    let mut out =
        unfold((start, second.start), |(a, b): (StateId, Option<StateId>), out: &mut Expanded<_, f32>| {
            let state = first.state(a);
            for arc in &state.arcs {
                let next = match arc.ilabel {
                    EPSILON => b,
                    label => b.and_then(|b| arcs.get(&(b, label)).copied()),
                };
                out.add((arc.ilabel, arc.olabel), arc.weight, (arc.next, next));
            }
            if b.is_none_or(|b| !second.state(b).is_final()) { state.final_weight } else { f32::INFINITY }
        });
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
