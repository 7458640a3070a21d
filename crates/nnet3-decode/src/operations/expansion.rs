//! Lattices with more states: states are split by their histories.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use kaldi_fst::{Arc, EPSILON, StateId, ops};
use kaldi_numerics::log_sums::log_add;

use crate::error::{Error, Result};
use crate::lattice::CompactLattice;
use crate::order;
use crate::posterior::forward_backward;

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
    let mut copies =
        Copies { out: CompactLattice::default(), numbers: HashMap::new(), waiting: VecDeque::new() };
    copies.out.start = Some(copies.number((start, Vec::new())));
    while let Some((s, history)) = copies.waiting.pop_front() {
        let copy = copies.number((s, history.clone()));
        let state = lattice.state(s);
        copies.out.state_mut(copy).final_weight = state.final_weight.clone();
        for arc in &state.arcs {
            let mut words = history.clone();
            if arc.ilabel != EPSILON {
                words.push(arc.ilabel);
                let surplus = words.len().saturating_sub(most);
                words.drain(..surplus);
            }
            let next = copies.number((arc.next, words));
            copies.out.state_mut(copy).arcs.push(Arc { next, ..arc.clone() });
        }
    }
    ops::connect(&mut copies.out);
    copies.out
}

/// States of the result, by the original that each copies.
struct Copies<T> {
    out: CompactLattice,
    numbers: HashMap<T, StateId>,
    waiting: VecDeque<T>,
}

impl<T: Clone + Eq + Hash> Copies<T> {
    fn number(&mut self, place: T) -> StateId {
        let (out, waiting) = (&mut self.out, &mut self.waiting);
        *self.numbers.entry(place).or_insert_with_key(|place| {
            waiting.push_back(place.clone());
            out.add_state()
        })
    }
}
