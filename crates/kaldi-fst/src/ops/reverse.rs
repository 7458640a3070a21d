//! Reading an FST from its end.

use crate::fst::{Arc, EPSILON, Fst};
use crate::ops::components::Components;
use crate::weight::Algebra;

/// The FST of the reversed strings, at the same costs. State 0 is its start: arcs without labels lead from there to the
/// states that were final, at their final costs. The other states are the old ones, numbered one higher. Weights must
/// commute.
pub fn reverse<W: Algebra>(fst: &Fst<W>) -> Fst<W> {
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

/// Does the same as [`reverse`] without a state of its own as the start. The start is the only final state, and states keep their
/// numbers. `None` if that is not possible: there is not exactly one final state, or it has a final cost and is on a cycle.
pub fn reverse_without_start<W: Algebra>(fst: &Fst<W>) -> Option<Fst<W>> {
    let start = fst.start?;
    let mut ends = fst.numbered().filter(|(_, state)| state.is_final());
    let (end, last) = ends.next().filter(|_| ends.next().is_none())?;
    let paid = &last.final_weight;
    if !paid.is_one() && Components::of(fst).cyclic(fst, end as usize) {
        return None;
    }
    let mut out = Fst { start: Some(end), ..Fst::default() };
    out.states.resize_with(fst.states.len(), Default::default);
    for (s, state) in fst.numbered() {
        for arc in &state.arcs {
            let weight = if arc.next == end { paid.times(&arc.weight) } else { arc.weight.clone() };
            out.state_mut(arc.next).arcs.push(Arc { weight, next: s, ..arc.clone() });
        }
    }
    out.state_mut(start).final_weight = if start == end { paid.clone() } else { W::one() };
    Some(out)
}
