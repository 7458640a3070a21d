//! Lattices with more states: states are split by their histories.

use std::collections::{HashMap, VecDeque};

use kaldi_fst::state_table::{Expanded, unfold};
use kaldi_fst::{Arc, EPSILON, StateId, ops};
use kaldi_numerics::log_sums::log_add;

use crate::error::{Error, Result};
use crate::lattice::CompactLattice;
use crate::order;
use crate::posterior::forward_backward;
use crate::weight::CompactLatticeWeight;

/// Gives the target of each arc whose posterior is above `least` a copy of its own; other arcs to the same state share
/// one copy. The lattice is sorted first. Paths and their costs do not change.
///
/// # Errors
/// The lattice is empty, has a cycle, or has no path.
pub fn expand_probable(lattice: &mut CompactLattice, least: f64) -> Result<CompactLattice> {
    order::sort(lattice)?;
    let sums = forward_backward(lattice)?;
    let start = lattice.start.ok_or(Error::Empty)?;
    let mut out = CompactLattice::default();
    out.start = Some(out.add_state());
    // For each state of the result, the log-likelihood of the ways to it.
    let mut forward = vec![0.0];
    let mut shared: HashMap<StateId, StateId> = HashMap::new();
    let mut waiting = VecDeque::from([(start, 0)]);
    while let Some((s, copy)) = waiting.pop_front() {
        let state = lattice.state(s);
        out.state_mut(copy).final_weight = state.final_weight.clone();
        for arc in &state.arcs {
            let then = forward[copy as usize] - arc.weight.weight.cost();
            let is_probable = (then + sums.backward[arc.next as usize] - sums.total).exp() > least;
            let known = if is_probable { None } else { shared.get(&arc.next).copied() };
            let next = match known {
                Some(next) => {
                    forward[next as usize] = log_add(forward[next as usize], then);
                    next
                }
                None => {
                    let next = out.add_state();
                    forward.push(then);
                    waiting.push_back((arc.next, next));
                    if !is_probable {
                        shared.insert(arc.next, next);
                    }
                    next
                }
            };
            out.state_mut(copy).arcs.push(Arc { next, ..arc.clone() });
        }
    }
    Ok(out)
}

/// Gives states copies such that the last `order - 1` words before each state are the same on all paths. Paths and costs
/// stay; states that are on no path go.
pub fn expand_ngrams(lattice: &CompactLattice, order: usize) -> CompactLattice {
    let Some(start) = lattice.start else { return CompactLattice::default() };
    let most = order.saturating_sub(1);
    let start: (StateId, Vec<i32>) = (start, Vec::new());
    let mut out = unfold(start, |(s, history), out: &mut Expanded<_, CompactLatticeWeight>| {
        let state = lattice.state(s);
        for arc in &state.arcs {
            let mut words = history.clone();
            if arc.ilabel != EPSILON {
                words.push(arc.ilabel);
                let surplus = words.len().saturating_sub(most);
                words.drain(..surplus);
            }
            out.add((arc.ilabel, arc.olabel), arc.weight.clone(), (arc.next, words));
        }
        state.final_weight.clone()
    });
    ops::connect(&mut out);
    out
}
