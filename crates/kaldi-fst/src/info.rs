//! Statistics of an FST: counts and properties.

use crate::fst::{Arc, EPSILON, Fst};
use crate::ops::Side;
use crate::ops::components::Components;

/// Counts over states and arcs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counts {
    pub states: usize,
    pub arcs: usize,
    pub final_states: usize,
    /// Arcs with neither label, without input label, without output label.
    pub epsilons: usize,
    pub input_epsilons: usize,
    pub output_epsilons: usize,
    /// Average over all arcs of the number of arcs of the same state with the same label (the arc itself included).
    pub input_multiplicity: f64,
    pub output_multiplicity: f64,
    /// States that the start leads to, that lead to a final state, and both.
    pub accessible: usize,
    pub coaccessible: usize,
    pub connected: usize,
    /// Sets of states that hang together if arcs may be passed in both directions.
    pub components: usize,
    /// Sets of states that can be reached from each other.
    pub strong_components: usize,
}

impl Counts {
    /// Counts; only arcs that pass the filter connect states.
    pub fn of(fst: &Fst, filter: impl Fn(&Arc) -> bool) -> Counts {
        let arcs = || fst.states.iter().flat_map(|state| &state.arcs);
        let mut connecting = fst.clone();
        connecting.states.iter_mut().for_each(|state| state.arcs.retain(|arc| filter(arc)));
        let components = Components::of(&connecting);
        let both = components.accessible.iter().zip(&components.coaccessible).filter(|(a, c)| **a && **c);
        let count = |flags: &[bool]| flags.iter().filter(|flag| **flag).count();
        Counts {
            states: fst.states.len(),
            arcs: fst.num_arcs(),
            final_states: fst.states.iter().filter(|state| state.is_final()).count(),
            epsilons: arcs().filter(|arc| arc.is_epsilon()).count(),
            input_epsilons: arcs().filter(|arc| arc.ilabel == EPSILON).count(),
            output_epsilons: arcs().filter(|arc| arc.olabel == EPSILON).count(),
            input_multiplicity: multiplicity(fst, Side::Input),
            output_multiplicity: multiplicity(fst, Side::Output),
            accessible: count(&components.accessible),
            coaccessible: count(&components.coaccessible),
            connected: both.count(),
            components: weak_components(&connecting),
            strong_components: components.number.iter().max().map_or(0, |&largest| largest as usize + 1),
        }
    }
}

fn multiplicity(fst: &Fst, side: Side) -> f64 {
    let arcs = fst.num_arcs();
    if arcs == 0 {
        return 0.0;
    }
    let mut sum = 0usize;
    let mut labels: Vec<i32> = Vec::new();
    for state in &fst.states {
        labels.clear();
        labels.extend(state.arcs.iter().map(|arc| side.label(arc)));
        labels.sort_unstable();
        sum += labels.chunk_by(|a, b| a == b).map(|same| same.len() * same.len()).sum::<usize>();
    }
    sum as f64 / arcs as f64
}

/// Counts by joining sets (union-find).
fn weak_components(fst: &Fst) -> usize {
    fn root(parents: &mut [u32], mut state: u32) -> u32 {
        while parents[state as usize] != state {
            let above = parents[parents[state as usize] as usize];
            parents[state as usize] = above;
            state = above;
        }
        state
    }
    let mut parents: Vec<u32> = (0..fst.states.len() as u32).collect();
    let mut count = parents.len();
    for (s, state) in fst.numbered() {
        for arc in &state.arcs {
            let (a, b) = (root(&mut parents, s), root(&mut parents, arc.next));
            if a != b {
                parents[a as usize] = b;
                count -= 1;
            }
        }
    }
    count
}
