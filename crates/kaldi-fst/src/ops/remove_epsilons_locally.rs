//! Removes empty arcs if that makes the FST smaller (Kaldi's `RemoveEpsLocal`).
//!
//! An arc and the arc after it become one arc if together they have at most one label on each side. The state between
//! them must have a single arc in, or a single arc out. The start counts as an arc in, a final weight as an arc out.

use crate::fst::{Arc, EPSILON, Fst, StateId};
use crate::ops::connect::connect;
use crate::ops::semiring::Semiring;

/// The target of arcs that are deleted.
const NOWHERE: StateId = StateId::MAX;

/// Joins arcs as in the module's description, then connects the FST. Costs of strings stay unchanged in the semiring
/// `alternatives`. If only some of the arcs behind an arc are joined with it, the others are rescaled. So the sum of a
/// state's leaving costs stays unchanged, in the semiring `sums`.
pub fn remove_epsilons_locally(fst: &mut Fst, alternatives: Semiring, sums: Semiring) {
    // An arc into a circle of empty arcs that leads nowhere would be joined with them for ever.
    connect(fst);
    if fst.start.is_none() {
        return;
    }
    let mut removal = Removal::over(fst, alternatives, sums);
    for s in 0..removal.fst.states.len() as StateId {
        let mut position = 0;
        // Arcs that are added on the way have their turn too.
        while position < removal.fst.state(s).arcs.len() {
            removal.visit(s, position);
            position += 1;
        }
    }
    for state in &mut fst.states {
        state.arcs.retain(|arc| arc.next != NOWHERE);
    }
    connect(fst);
}

struct Removal<'f> {
    fst: &'f mut Fst,
    alternatives: Semiring,
    sums: Semiring,
    /// Number of arcs into each state; the start has one more.
    arcs_in: Vec<u32>,
    /// Number of arcs out of each state; final states have one more.
    arcs_out: Vec<u32>,
}

/// One arc instead of two in a row, if their labels allow that.
fn joined(first: &Arc, second: &Arc) -> Option<Arc> {
    let both = |a: i32, b: i32| a != EPSILON && b != EPSILON;
    if both(first.ilabel, second.ilabel) || both(first.olabel, second.olabel) {
        return None;
    }
    // At most one of the two is not 0.
    let (ilabel, olabel) = (first.ilabel | second.ilabel, first.olabel | second.olabel);
    Some(Arc { ilabel, olabel, weight: first.weight + second.weight, next: second.next })
}

impl Removal<'_> {
    fn over(fst: &mut Fst, alternatives: Semiring, sums: Semiring) -> Removal<'_> {
        let mut arcs_in = vec![0; fst.states.len()];
        if let Some(start) = fst.start {
            arcs_in[start as usize] += 1;
        }
        for arc in fst.states.iter().flat_map(|state| &state.arcs) {
            arcs_in[arc.next as usize] += 1;
        }
        let arcs_out =
            fst.states.iter().map(|state| state.arcs.len() as u32 + u32::from(state.is_final())).collect();
        Removal { fst, alternatives, sums, arcs_in, arcs_out }
    }

    fn visit(&mut self, s: StateId, position: usize) {
        let arc = self.fst.state(s).arcs[position];
        if arc.next == NOWHERE || arc.next == s {
            return;
        }
        let (arcs_in, arcs_out) = (self.arcs_in[arc.next as usize], self.arcs_out[arc.next as usize]);
        if arcs_in == 1 && arcs_out > 1 {
            self.join_with_several(s, position, arc);
        } else if arcs_out == 1 {
            self.join_with_one(s, position, arc, arcs_in == 1);
        }
    }

    /// Joins the arc with the arcs after it if the state between them has one arc in and several out. Arcs that can be
    /// joined with it are moved.
    fn join_with_several(&mut self, s: StateId, position: usize, arc: Arc) {
        let (mut moved, mut kept) = (f32::INFINITY, f32::INFINITY);
        let mut added = Vec::new();
        let between = self.fst.state_mut(arc.next);
        for next in between.arcs.iter_mut().filter(|next| next.next != NOWHERE) {
            match joined(&arc, next) {
                Some(one) => {
                    moved = self.sums.plus(moved, next.weight);
                    added.push(one);
                    next.next = NOWHERE;
                }
                None => kept = self.sums.plus(kept, next.weight),
            }
        }
        let final_weight = between.final_weight;
        if between.is_final() {
            if arc.is_epsilon() {
                moved = self.sums.plus(moved, final_weight);
                between.final_weight = f32::INFINITY;
                self.arcs_out[arc.next as usize] -= 1;
                self.add_final(s, arc.weight + final_weight);
            } else {
                kept = self.sums.plus(kept, final_weight);
            }
        }
        self.arcs_out[arc.next as usize] -= added.len() as u32;
        if moved != f32::INFINITY {
            if kept == f32::INFINITY {
                self.delete(s, position, arc.next);
            } else {
                self.reweight(s, position, arc.next, kept - self.sums.plus(moved, kept));
            }
        }
        // A moved arc enters the same state as before, so the numbers of arcs in stay.
        self.arcs_out[s as usize] += added.len() as u32;
        self.fst.state_mut(s).arcs.extend(added);
    }

    /// The state behind the arc has one arc out; it stays if others use it.
    fn join_with_one(&mut self, s: StateId, position: usize, arc: Arc, only_way_in: bool) {
        let between = arc.next;
        let state = self.fst.state_mut(between);
        if state.is_final() {
            if !arc.is_epsilon() {
                return;
            }
            let final_weight = state.final_weight;
            if only_way_in {
                state.final_weight = f32::INFINITY;
                self.arcs_out[between as usize] -= 1;
            }
            self.add_final(s, arc.weight + final_weight);
        } else {
            let next = state.arcs.iter_mut().find(|next| next.next != NOWHERE);
            let Some((next, one)) = next.and_then(|next| joined(&arc, next).map(|one| (next, one))) else {
                return;
            };
            if only_way_in {
                next.next = NOWHERE;
                self.arcs_out[between as usize] -= 1;
                self.arcs_in[one.next as usize] -= 1;
            }
            self.arcs_out[s as usize] += 1;
            self.arcs_in[one.next as usize] += 1;
            self.fst.state_mut(s).arcs.push(one);
        }
        self.delete(s, position, between);
    }

    fn delete(&mut self, s: StateId, position: usize, next: StateId) {
        self.fst.state_mut(s).arcs[position].next = NOWHERE;
        self.arcs_out[s as usize] -= 1;
        self.arcs_in[next as usize] -= 1;
    }

    fn add_final(&mut self, s: StateId, weight: f32) {
        let state = self.fst.state_mut(s);
        self.arcs_out[s as usize] += u32::from(!state.is_final());
        state.final_weight = self.alternatives.plus(state.final_weight, weight);
    }

    /// Makes an arc dearer, and all that leaves the state behind it, which has no other arc in, cheaper by as much.
    fn reweight(&mut self, s: StateId, position: usize, next: StateId, cost: f32) {
        self.fst.state_mut(s).arcs[position].weight += cost;
        let state = self.fst.state_mut(next);
        for arc in state.arcs.iter_mut().filter(|arc| arc.next != NOWHERE) {
            arc.weight -= cost;
        }
        if state.is_final() {
            state.final_weight -= cost;
        }
    }
}
