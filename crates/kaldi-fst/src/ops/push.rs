//! Moving costs and output labels towards the start or the ends (Mohri, "Finite-state transducers in language and speech
//! processing", 1997).

pub(super) mod labels;

use super::components::Components;
use super::{Semiring, costs_from_start, costs_to_end};
use crate::error::Result;
use crate::fst::{Arc, EPSILON, Fst, StateId};

/// Moves of costs and labels.
#[derive(Debug, Clone, Copy, Default)]
pub struct Push {
    pub weights: bool,
    pub labels: bool,
    /// Towards the ends; otherwise towards the start.
    pub to_final: bool,
    /// Removes the total weight: the least cost of all paths.
    pub remove_total_weight: bool,
    /// Removes the output labels that all paths begin with (with `to_final`: that they end with).
    pub remove_common_affix: bool,
    /// Decides what the cost of several paths is.
    pub semiring: Semiring,
}

/// Pushes costs and labels. The costs and labels of whole paths stay, except for the part to remove.
///
/// A cycle of negative cost is an error, and in the log semiring one of a probability of 1 or more.
pub fn push(mut fst: Fst, options: Push) -> Result<Fst> {
    if options.weights {
        push_weights(&mut fst, options)?;
    }
    if !options.labels {
        return Ok(fst);
    }
    if options.to_final {
        let (pushed, strings, ends) = labels::push_to_ends(fst, options.remove_common_affix);
        return Ok(labels::write(&pushed, &strings, &ends));
    }
    let (pushed, strings) = labels::push_to_start(fst, options.remove_common_affix);
    Ok(labels::write(&pushed, &strings, &[]))
}

/// Moves costs. The arithmetic is that of OpenFst, so that the cheapest paths cost exactly 0.
pub(super) fn push_weights(fst: &mut Fst, options: Push) -> Result<()> {
    let Some(start) = fst.start else { return Ok(()) };
    let to_end = costs_to_end(fst, options.semiring)?;
    let total = to_end[start as usize];
    if total == f32::INFINITY {
        return Ok(());
    }
    let potentials = if options.to_final { costs_from_start(fst, options.semiring)? } else { to_end };
    reweight(fst, &potentials, options.to_final);
    if options.remove_total_weight {
        if options.to_final {
            fst.states.iter_mut().for_each(|state| state.final_weight -= total);
        } else {
            let first = fst.start.unwrap_or(start);
            add_to_start(fst, first, -total);
        }
    }
    Ok(())
}

/// Adds to the costs of all that leaves a state.
fn add_to_start(fst: &mut Fst, start: StateId, cost: f32) {
    let state = fst.state_mut(start);
    state.arcs.iter_mut().for_each(|arc| arc.weight += cost);
    state.final_weight += cost;
}

/// Changes the cost of each arc by the potentials of both its states, and that of each path by the potential of the start.
/// Towards the start, the potential of the target is added and that of the source subtracted; towards the ends it is the other
/// way round. States without a complete path have infinite potentials; arcs between them stay unchanged.
pub fn reweight(fst: &mut Fst, potentials: &[f32], to_final: bool) {
    let Some(start) = fst.start else { return };
    move_costs(fst, potentials, to_final);
    let own = potentials.get(start as usize).copied().unwrap_or(f32::INFINITY);
    if own == 0.0 || own == f32::INFINITY {
        return;
    }
    let paid = if to_final { -own } else { own };
    // It is paid once.
    if Components::of(fst).cyclic(fst, start as usize) {
        let first = fst.add_state();
        fst.state_mut(first).arcs.push(Arc::new(EPSILON, paid, start));
        fst.start = Some(first);
    } else {
        add_to_start(fst, start, paid);
    }
}

/// Does the same, but for the potential of the start: all paths cost less by it, or with `to_final` more.
pub(super) fn move_costs(fst: &mut Fst, potentials: &[f32], to_final: bool) {
    let potential = |s: usize| potentials.get(s).copied().unwrap_or(f32::INFINITY);
    for (s, state) in fst.states.iter_mut().enumerate() {
        let own = potential(s);
        if to_final {
            state.final_weight += own;
        }
        if own == f32::INFINITY {
            continue;
        }
        for arc in &mut state.arcs {
            let next = potential(arc.next as usize);
            if next != f32::INFINITY {
                arc.weight = if to_final { own + arc.weight - next } else { arc.weight + next - own };
            }
        }
        if !to_final {
            state.final_weight -= own;
        }
    }
}
