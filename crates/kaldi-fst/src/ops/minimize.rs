//! Minimization of deterministic acyclic acceptors: costs are pushed to the start, then equivalent states are merged
//! (Mohri, "Minimization algorithms for sequential transducers", 2000; for acyclic acceptors Revuz, 1992).

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::fst::{Arc, Fst, State, StateId};
use crate::ops::connect::connect;
use crate::ops::order::topological_order;
use crate::weight::Divisible;

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
    fst.map_weights(|weight| *weight = weight.quantized(DELTA));
    merge_equal(fst, &order, start, f32::bits);
    Ok(())
}

/// Minimizes an FST as an acceptor of pairs of labels. States are merged if their weights are equal as multiples of `delta`; the weights
/// of the one that comes last count.
///
/// # Errors
/// The FST has cycles.
pub fn minimize_pairs<W: Divisible>(fst: &mut Fst<W>, delta: f32) -> Result<()> {
    connect(fst);
    let Some(start) = fst.start else { return Ok(()) };
    let order = topological_order(fst)?;
    push_to_start(fst, &order, start);
    merge_equal(fst, &order, start, |weight| weight.quantized(delta).bits());
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

/// Pushes weights: afterwards the weight of the best path from every state except the start is one.
fn push_to_start<W: Divisible>(fst: &mut Fst<W>, order: &[StateId], start: StateId) {
    let mut distance = vec![W::zero(); fst.states.len()];
    for &s in order.iter().rev() {
        let state = fst.state(s);
        let through = state.arcs.iter().map(|arc| arc.weight.times(&distance[arc.next as usize]));
        distance[s as usize] = through.fold(state.final_weight.clone(), |best, weight| best.plus(&weight));
    }
    for (s, state) in fst.states.iter_mut().enumerate() {
        let own = if s as StateId == start { W::one() } else { distance[s].clone() };
        if own.is_zero() {
            continue;
        }
        if state.is_final() {
            state.final_weight = state.final_weight.divide(&own);
        }
        for arc in &mut state.arcs {
            arc.weight = arc.weight.times(&distance[arc.next as usize].divide(&own));
        }
    }
}

/// The behaviour of a state: the bits of its final weight; labels, bits of the weight and class of the next state of each arc.
type Signature<B> = (B, Vec<((i32, i32), B, StateId)>);

fn merge_equal<W: Divisible>(
    fst: &mut Fst<W>,
    order: &[StateId],
    start: StateId,
    bits: impl Fn(&W) -> W::Bits,
) {
    let mut classes: HashMap<Signature<W::Bits>, StateId> = HashMap::new();
    let mut class_of = vec![0; fst.states.len()];
    let mut states: Vec<State<W>> = Vec::new();
    for &s in order.iter().rev() {
        let mut state = std::mem::take(fst.state_mut(s));
        for arc in &mut state.arcs {
            arc.next = class_of[arc.next as usize];
        }
        let behaviour = |arc: &Arc<W>| ((arc.ilabel, arc.olabel), bits(&arc.weight), arc.next);
        let mut signature: Vec<_> = state.arcs.iter().map(behaviour).collect();
        signature.sort_unstable();
        let class = classes.entry((bits(&state.final_weight), signature)).or_insert_with(|| {
            states.push(state);
            (states.len() - 1) as StateId
        });
        class_of[s as usize] = *class;
    }
    *fst = Fst { start: Some(class_of[start as usize]), states };
}
