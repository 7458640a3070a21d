//! Moving costs and output labels towards the start or the ends (Mohri, "Finite-state transducers in language and speech
//! processing", 1997).

mod labels;

use super::{distances_from_start, distances_to_end, reverse};
use crate::error::Result;
use crate::fst::{Arc, EPSILON, Fst};

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
}

/// Pushes costs and labels. The costs and labels of whole paths stay, except for the part to remove.
///
/// A cycle of negative cost is an error.
pub fn push(mut fst: Fst, options: Push) -> Result<Fst> {
    if options.weights {
        push_weights(&mut fst, options)?;
    }
    if !options.labels {
        return Ok(fst);
    }
    if options.to_final {
        let pushed = labels::push_to_start(reverse(&fst), options.remove_common_affix);
        return Ok(reverse(&pushed));
    }
    Ok(labels::push_to_start(fst, options.remove_common_affix))
}

fn push_weights(fst: &mut Fst, options: Push) -> Result<()> {
    let Some(start) = fst.start else { return Ok(()) };
    let to_end = distances_to_end(fst)?;
    let total = to_end[start as usize];
    if total == f32::INFINITY {
        return Ok(());
    }
    if options.to_final {
        let from_start = distances_from_start(fst)?;
        reweight(fst, |s| from_start[s], 1.0);
        if options.remove_total_weight {
            fst.states.iter_mut().for_each(|state| state.final_weight -= total);
        }
        return Ok(());
    }
    reweight(fst, |s| to_end[s], -1.0);
    if options.remove_total_weight || total == 0.0 {
        return Ok(());
    }
    // The cost of all paths is paid once, at the start.
    if fst.states.iter().flat_map(|state| &state.arcs).any(|arc| arc.next == start) {
        let first = fst.add_state();
        fst.state_mut(first).arcs.push(Arc::new(EPSILON, total, start));
        fst.start = Some(first);
    } else {
        let state = fst.state_mut(start);
        state.arcs.iter_mut().for_each(|arc| arc.weight += total);
        state.final_weight += total;
    }
    Ok(())
}

/// Changes the cost of each arc: adds `sign` times the potential of its source, and subtracts `sign` times the
/// potential of its target. States without a complete path have infinite potentials; arcs between them stay unchanged.
fn reweight(fst: &mut Fst, potential: impl Fn(usize) -> f32, sign: f32) {
    for (s, state) in fst.states.iter_mut().enumerate() {
        let own = potential(s);
        if own == f32::INFINITY {
            continue;
        }
        for arc in &mut state.arcs {
            let next = potential(arc.next as usize);
            if next != f32::INFINITY {
                arc.weight += sign * (own - next);
            }
        }
        state.final_weight += sign * own;
    }
}
