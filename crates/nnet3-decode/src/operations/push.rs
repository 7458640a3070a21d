//! Pushing and minimizing of compact lattices (`lat/push-lattice.cc`, `lat/minimize-lattice.cc`).

use std::collections::HashMap;

use kaldi_fst::{Algebra, Divisible, StateId, ops};

use crate::error::Result;
use crate::lattice::CompactLattice;
use crate::order;
use crate::weight::{CompactLatticeWeight, DELTA, LatticeWeight};

/// Pushes transition-ids, then costs, then minimizes.
pub fn minimize_pushed(lattice: &mut CompactLattice) -> Result<()> {
    ops::connect(lattice);
    push_strings(lattice)?;
    push_weights(lattice)?;
    minimize(lattice)
}

/// Moves transition-ids that all ways on from a state begin with to the arcs that lead there. Every state must lead to an
/// end. The lattice is sorted.
pub fn push_strings(lattice: &mut CompactLattice) -> Result<()> {
    order::sort(lattice)?;
    // The prefix that is moved away from each state.
    let mut prefixes: Vec<Vec<i32>> = vec![Vec::new(); lattice.states.len()];
    for (s, state) in lattice.numbered().collect::<Vec<_>>().into_iter().rev() {
        if Some(s) == lattice.start {
            continue;
        }
        let mut common = state.is_final().then(|| state.final_weight.string.clone());
        for arc in &state.arcs {
            let string = arc.weight.string.iter().chain(&prefixes[arc.next as usize]);
            match &mut common {
                None => common = Some(string.copied().collect()),
                Some(common) => {
                    let same = common.iter().zip(string).take_while(|(a, b)| a == b).count();
                    common.truncate(same);
                }
            }
        }
        prefixes[s as usize] = common.unwrap_or_default();
    }
    for (s, state) in lattice.states.iter_mut().enumerate() {
        let moved = prefixes[s].len();
        for arc in &mut state.arcs {
            arc.weight.string.extend(&prefixes[arc.next as usize]);
            arc.weight.string.drain(..moved);
        }
        if state.is_final() {
            state.final_weight.string.drain(..moved);
        }
    }
    Ok(())
}

/// Pushes costs to the start: afterwards the best path from each state except the start has cost 0. Sorts the lattice.
pub fn push_weights(lattice: &mut CompactLattice) -> Result<()> {
    order::sort(lattice)?;
    let mut to_end = vec![LatticeWeight::ZERO; lattice.states.len()];
    for (s, state) in lattice.numbered().collect::<Vec<_>>().into_iter().rev() {
        let ways = state.arcs.iter().map(|arc| arc.weight.weight.times(&to_end[arc.next as usize]));
        to_end[s as usize] = ways.fold(state.final_weight.weight, |a, b| a.plus(&b));
    }
    let start = lattice.start;
    for (s, state) in lattice.states.iter_mut().enumerate() {
        let own = if Some(s as StateId) == start { LatticeWeight::ONE } else { to_end[s] };
        for arc in &mut state.arcs {
            arc.weight.weight = arc.weight.weight.times(&to_end[arc.next as usize]).divide(&own);
        }
        if state.is_final() {
            state.final_weight.weight = state.final_weight.weight.divide(&own);
        }
    }
    Ok(())
}

/// Equality of two states apart from costs: for each arc its word, its transition-ids and its target.
type Signature = Vec<(i32, Vec<i32>, StateId)>;

/// Makes states one from which the same can be done, at costs that differ by rounding only.
pub fn minimize(lattice: &mut CompactLattice) -> Result<()> {
    order::sort(lattice)?;
    let mut numbers: Vec<StateId> = (0..lattice.states.len() as StateId).collect();
    let mut classes: HashMap<(Vec<i32>, Signature), Vec<StateId>> = HashMap::new();
    for s in (0..lattice.states.len()).rev() {
        let state = &mut lattice.states[s];
        state.arcs.iter_mut().for_each(|arc| arc.next = numbers[arc.next as usize]);
        state.arcs.sort_by(|a, b| {
            let key = |arc: &crate::CompactArc| (arc.ilabel, arc.next);
            key(a).cmp(&key(b)).then_with(|| a.weight.string.cmp(&b.weight.string))
        });
        let state = &lattice.states[s];
        let signature =
            state.arcs.iter().map(|arc| (arc.ilabel, arc.weight.string.clone(), arc.next)).collect();
        let same = classes.entry((state.final_weight.string.clone(), signature)).or_default();
        match same.iter().find(|&&other| alike(lattice, s as StateId, other)) {
            Some(&other) => numbers[s] = other,
            None => same.push(s as StateId),
        }
    }
    lattice.start = lattice.start.map(|start| numbers[start as usize]);
    ops::connect(lattice);
    Ok(())
}

/// True if two states with the same signature have about the same costs.
fn alike(lattice: &CompactLattice, a: StateId, b: StateId) -> bool {
    let (a, b) = (lattice.state(a), lattice.state(b));
    let close = |a: &CompactLatticeWeight, b: &CompactLatticeWeight| a.weight.approx_equal(&b.weight, DELTA);
    a.final_weight.is_zero() == b.final_weight.is_zero()
        && close(&a.final_weight, &b.final_weight)
        && a.arcs.iter().zip(&b.arcs).all(|(a, b)| close(&a.weight, &b.weight))
}
