//! Reading an FST from its end.

use crate::fst::{Arc, EPSILON, Fst};
use crate::weight::Weight;

/// The FST of the reversed strings, at the same costs. State 0 is its start: arcs without labels lead from there to the
/// states that were final, at their final costs. The other states are the old ones, numbered one higher. Weights must
/// commute.
pub fn reverse<W: Weight>(fst: &Fst<W>) -> Fst<W> {
    let Some(start) = fst.start else { return Fst::default() };
    let mut out = Fst { start: Some(0), ..Fst::default() };
    out.states.resize_with(fst.states.len() + 1, Default::default);
    out.state_mut(start + 1).final_weight = W::one();
    for (s, state) in fst.numbered() {
        let from = s + 1;
        if state.is_final() {
            let arc =
                Arc { ilabel: EPSILON, olabel: EPSILON, weight: state.final_weight.clone(), next: from };
            out.state_mut(0).arcs.push(arc);
        }
        for arc in &state.arcs {
            out.state_mut(arc.next + 1).arcs.push(Arc { next: from, ..arc.clone() });
        }
    }
    out
}
