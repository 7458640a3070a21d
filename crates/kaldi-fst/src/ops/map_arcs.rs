//! Changes of arcs one by one.

use std::collections::HashMap;

use super::Semiring;
use super::semiring::quantize;
use crate::fst::{Arc, EPSILON, Fst, StateId};

/// A change of arcs, and of final costs as of arcs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MapArcs {
    Identity,
    /// Joins arcs with the same labels and next state; the costs are those of alternatives.
    Sum,
    /// Keeps one of arcs that are the same.
    Unique,
    NoInput,
    NoOutput,
    /// Negates costs.
    Invert,
    /// The cost of it or this one.
    Plus(f32),
    /// Multiplies costs.
    Power(f32),
    /// Rounds costs to multiples of this.
    Quantize(f32),
    /// Makes all costs 0.
    NoCosts,
    /// Leads all ends to one final state of cost 0.
    OneEnd,
    /// Adds a cost.
    Times(f32),
}

/// Changes all arcs.
pub fn map_arcs(fst: &mut Fst, semiring: Semiring, change: MapArcs) {
    match change {
        MapArcs::Identity => {}
        MapArcs::Sum => merge(fst, |known, cost| *known = semiring.plus(*known, cost), false),
        MapArcs::Unique => merge(fst, |_, _| (), true),
        MapArcs::NoInput => labels(fst, |arc| arc.ilabel = EPSILON),
        MapArcs::NoOutput => labels(fst, |arc| arc.olabel = EPSILON),
        MapArcs::Invert => fst.map_weights(|cost| *cost = -*cost),
        MapArcs::Plus(other) => {
            for state in &mut fst.states {
                // (What cannot be used stays so.)
                let sum =
                    |weight: f32| if weight == f32::INFINITY { weight } else { semiring.plus(weight, other) };
                state.arcs.iter_mut().for_each(|arc| arc.weight = sum(arc.weight));
                state.final_weight = sum(state.final_weight);
            }
        }
        MapArcs::Power(power) => fst.map_weights(|cost| *cost *= power),
        MapArcs::Quantize(delta) => fst.map_weights(|cost| *cost = quantize(*cost, delta)),
        MapArcs::NoCosts => fst.map_weights(|cost| *cost = 0.0),
        MapArcs::Times(other) => fst.map_weights(|cost| *cost += other),
        MapArcs::OneEnd => one_end(fst),
    }
}

fn labels(fst: &mut Fst, change: impl Fn(&mut Arc)) {
    fst.states.iter_mut().flat_map(|state| &mut state.arcs).for_each(change);
}

/// Joins arcs of a state with the same labels and next state, in the order of these; with `same_cost` only those of one cost.
fn merge(fst: &mut Fst, join: impl Fn(&mut f32, f32), same_cost: bool) {
    for state in &mut fst.states {
        let mut places: HashMap<(i32, i32, StateId, u32), usize> = HashMap::new();
        let mut arcs: Vec<Arc> = Vec::with_capacity(state.arcs.len());
        for arc in &state.arcs {
            let cost = if same_cost { arc.weight.to_bits() } else { 0 };
            let place = *places.entry((arc.ilabel, arc.olabel, arc.next, cost)).or_insert(arcs.len());
            match arcs.get_mut(place) {
                Some(known) => join(&mut known.weight, arc.weight),
                None => arcs.push(*arc),
            }
        }
        arcs.sort_by_key(|arc| (arc.ilabel, arc.olabel, arc.next));
        state.arcs = arcs;
    }
}

fn one_end(fst: &mut Fst) {
    if fst.states.is_empty() {
        return;
    }
    let end = fst.add_state();
    for state in fst.states.iter_mut().filter(|state| state.final_weight < f32::INFINITY) {
        let weight = std::mem::replace(&mut state.final_weight, f32::INFINITY);
        state.arcs.push(Arc::new(EPSILON, weight, end));
    }
    fst.state_mut(end).final_weight = 0.0;
}
