//! Removing states that no path uses.

use crate::fst::{Fst, State, StateId};
use crate::ops::components::Components;
use crate::weight::Algebra;

/// Keeps the states on paths from the start to a final state, in their order. Without such a path the result is empty.
pub fn connect<W: Algebra>(fst: &mut Fst<W>) {
    let components = Components::of(fst);
    keep_states(fst, |s| components.accessible[s] && components.coaccessible[s]);
}

/// Keeps the states that the start leads to, in their order, whether a path ends behind them or not.
pub(super) fn keep_accessible<W: Algebra>(fst: &mut Fst<W>) {
    let components = Components::of(fst);
    keep_states(fst, |s| components.accessible[s]);
}

fn keep_states<W: Algebra>(fst: &mut Fst<W>, kept: impl Fn(usize) -> bool) {
    let mut numbers: Vec<Option<StateId>> = Vec::with_capacity(fst.states.len());
    let mut count = 0;
    for s in 0..fst.states.len() {
        numbers.push(kept(s).then_some(count));
        count += StateId::from(kept(s));
    }
    let mut states = Vec::with_capacity(count as usize);
    for (s, mut state) in std::mem::take(&mut fst.states).into_iter().enumerate() {
        if numbers[s].is_none() {
            continue;
        }
        state.arcs.retain_mut(|arc| {
            let number = numbers[arc.next as usize];
            arc.next = number.unwrap_or(arc.next);
            number.is_some()
        });
        states.push(State { final_weight: state.final_weight, arcs: state.arcs });
    }
    fst.start = fst.start.and_then(|start| numbers[start as usize]);
    fst.states = states;
}
