//! Minimization of deterministic acyclic acceptors: costs are pushed to the start, then equivalent states are merged
//! (Mohri, "Minimization algorithms for sequential transducers", 2000; for acyclic acceptors Revuz, 1992).

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::fst::{Arc, Fst, State, StateId};
use crate::ops::connect::connect;
use crate::ops::order::topological_order;

/// Costs that differ by less count as equal: they are rounded to multiples of this, as by OpenFst.
const DELTA: f32 = 1e-6;

/// Makes the smallest acceptor that accepts the same at the same costs. Fails if it has cycles, or two arcs of one
/// state with the same label.
pub fn minimize(fst: &mut Fst) -> Result<()> {
    fst.check_acceptor()?;
    connect(fst);
    let Some(start) = fst.start else { return Ok(()) };
    check_deterministic(fst)?;
    let order = topological_order(fst)?;
    push_to_start(fst, &order, start);
    for state in &mut fst.states {
        round(&mut state.final_weight);
        state.arcs.iter_mut().for_each(|arc| round(&mut arc.weight));
    }
    merge_equal(fst, &order, start);
    Ok(())
}

fn check_deterministic(fst: &Fst) -> Result<()> {
    let mut labels = Vec::new();
    for (state, data) in fst.numbered() {
        labels.clear();
        labels.extend(data.arcs.iter().map(|arc| arc.ilabel));
        labels.sort_unstable();
        if let Some(pair) = labels.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::Nondeterministic { state, label: pair[0] });
        }
    }
    Ok(())
}

fn round(weight: &mut f32) {
    if *weight != f32::INFINITY {
        // Adding 0 makes one of the two zeros.
        *weight = (*weight / DELTA + 0.5).floor() * DELTA + 0.0;
    }
}

/// Pushes costs: afterwards the best path from every state except the start has cost 0.
fn push_to_start(fst: &mut Fst, order: &[StateId], start: StateId) {
    let mut distance = vec![f32::INFINITY; fst.states.len()];
    for &s in order.iter().rev() {
        let state = fst.state(s);
        let through = state.arcs.iter().map(|arc| arc.weight + distance[arc.next as usize]);
        distance[s as usize] = through.fold(state.final_weight, f32::min);
    }
    for (s, state) in fst.states.iter_mut().enumerate() {
        let own = if s as StateId == start { 0.0 } else { distance[s] };
        if own == f32::INFINITY {
            continue;
        }
        state.final_weight -= own;
        state.arcs.iter_mut().for_each(|arc| arc.weight += distance[arc.next as usize] - own);
    }
}

/// The behaviour of a state: its final cost; label, cost and class of the next state of each arc.
type Signature = (u32, Vec<(i32, u32, StateId)>);

fn merge_equal(fst: &mut Fst, order: &[StateId], start: StateId) {
    let mut classes: HashMap<Signature, StateId> = HashMap::new();
    let mut class_of = vec![0; fst.states.len()];
    let mut states: Vec<State> = Vec::new();
    for &s in order.iter().rev() {
        let state = std::mem::take(fst.state_mut(s));
        let arcs: Vec<Arc> =
            state.arcs.iter().map(|arc| Arc { next: class_of[arc.next as usize], ..*arc }).collect();
        let mut signature: Vec<_> =
            arcs.iter().map(|arc| (arc.ilabel, arc.weight.to_bits(), arc.next)).collect();
        signature.sort_unstable();
        let class = classes.entry((state.final_weight.to_bits(), signature)).or_insert_with(|| {
            states.push(State { final_weight: state.final_weight, arcs });
            (states.len() - 1) as StateId
        });
        class_of[s as usize] = *class;
    }
    *fst = Fst { start: Some(class_of[start as usize]), states };
}
