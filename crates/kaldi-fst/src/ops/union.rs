//! Alternatives and repetitions.

use super::{Determinize, Semiring, Side, determinize_labels, minimize_labels, sort_arcs};
use crate::error::Result;
use crate::fst::{Arc, EPSILON, Fst, StateId};
use crate::weight::Algebra;

/// Costs are rounded to multiples of this where states are joined.
const DELTA: f32 = 1e-6;

/// Returns the union of all FSTs. Arcs without labels lead from its start, the last state, to their starts.
pub fn union<'f, W: Algebra>(fsts: impl IntoIterator<Item = &'f Fst<W>>) -> Fst<W> {
    let mut out = Fst::default();
    let mut starts = Vec::new();
    for fst in fsts {
        let shift = out.states.len() as StateId;
        starts.extend(fst.start.map(|start| start + shift));
        out.states.extend(fst.states.iter().cloned().map(|mut state| {
            state.arcs.iter_mut().for_each(|arc| arc.next += shift);
            state
        }));
    }
    if !starts.is_empty() {
        let start = out.add_state();
        out.start = Some(start);
        out.state_mut(start).arcs = starts.into_iter().map(|s| Arc::new(EPSILON, W::one(), s)).collect();
    }
    out
}

/// Returns the union of FSTs that have no empty arcs, deterministic and minimal. The error explains a failure.
pub fn joined(fsts: &[Fst]) -> Result<Fst> {
    let mut all = union(fsts);
    super::remove_epsilons(&mut all)?;
    let deterministic = determinize_labels(all, Determinize::default())?;
    let mut minimal = minimize_labels(deterministic, Semiring::Tropical, DELTA, true)?;
    super::remove_epsilons(&mut minimal)?;
    sort_arcs(&mut minimal, Side::Input);
    Ok(minimal)
}

/// Lets paths follow each other any number of times: an arc without labels leads from each end to the start. With `plus` at
/// least once; otherwise the empty path is accepted too, from a start that is the last state.
pub fn closure<W: Algebra>(fst: &mut Fst<W>, plus: bool) {
    if let Some(start) = fst.start {
        for state in fst.states.iter_mut().filter(|state| !state.final_weight.is_zero()) {
            let weight = state.final_weight.clone();
            state.arcs.push(Arc::new(EPSILON, weight, start));
        }
    }
    if !plus {
        let first = fst.add_state();
        fst.state_mut(first).final_weight = W::one();
        if let Some(start) = fst.start.replace(first) {
            fst.state_mut(first).arcs.push(Arc::new(EPSILON, W::one(), start));
        }
    }
}
