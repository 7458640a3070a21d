//! One FST after the other.

use crate::fst::{Arc, EPSILON, Fst, StateId};
use crate::weight::Algebra;

/// Concatenates FSTs: a path of the result is a path of each, in order. An arc without label leads from each final
/// state of one to the start of the next; [`remove_epsilons`](super::remove_epsilons) removes these. If one of them is
/// empty, so is the result.
pub fn concatenate<'f, W: Algebra>(fsts: impl IntoIterator<Item = &'f Fst<W>>) -> Fst<W> {
    let mut out = Fst::default();
    let mut open: Option<std::ops::Range<usize>> = None;
    for fst in fsts {
        let Some(start) = fst.start else { return Fst::default() };
        let shift = out.states.len() as StateId;
        match open {
            None => out.start = Some(start),
            Some(previous) => {
                for state in out.states[previous].iter_mut().filter(|state| state.is_final()) {
                    let weight = std::mem::replace(&mut state.final_weight, W::zero());
                    let arc = Arc::new(EPSILON, weight, start + shift);
                    state.arcs.push(arc);
                }
            }
        }
        out.states.extend(fst.states.iter().cloned().map(|mut state| {
            state.arcs.iter_mut().for_each(|arc| arc.next += shift);
            state
        }));
        open = Some(shift as usize..out.states.len());
    }
    out
}
