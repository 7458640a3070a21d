//! Minimization without pushing: an arc's labels and its rounded cost together form one label. States that accept the
//! same strings of such labels are merged.

mod partition;

use rustc_hash::FxHashMap;

use crate::fst::{Arc, EPSILON, Fst, State, StateId};
use crate::ops::connect::connect;
use crate::ops::semiring::quantize;
use partition::coarsest_partition;

/// Rounds all costs to multiples of `delta`, connects the FST and merges equivalent states.
///
/// If several arcs of a state have the same labels and cost, states count as equivalent if they simulate each other
/// step by step (bisimulation). This merges fewer states than possible. Arcs come out in the order in which their
/// combinations of labels and cost first occur, states in the order of the first of each class, as with OpenFst. (In
/// that case OpenFst merges only states with arcs in the same order, unless they are sorted before.)
pub fn minimize_encoded(fst: &mut Fst, delta: f32) {
    for state in &mut fst.states {
        state.final_weight = quantize(state.final_weight, delta);
        state.arcs.iter_mut().for_each(|arc| arc.weight = quantize(arc.weight, delta));
    }
    let mut codes = Codes::default();
    for state in &mut fst.states {
        for arc in &mut state.arcs {
            arc.ilabel = codes.of(arc.ilabel, arc.olabel, arc.weight);
        }
        // Ending takes part in the numbering as an arc without labels.
        if state.is_final() {
            codes.of(EPSILON, EPSILON, state.final_weight);
        }
    }
    connect(fst);
    if let Some(start) = fst.start {
        let classes = coarsest_partition(fst);
        join(fst, start, &classes);
    }
    for arc in fst.states.iter_mut().flat_map(|state| &mut state.arcs) {
        let (ilabel, olabel, _) = codes.meanings[arc.ilabel as usize];
        (arc.ilabel, arc.olabel) = (ilabel, olabel);
    }
}

/// Numbers of combinations of labels and cost.
#[derive(Default)]
struct Codes {
    numbers: FxHashMap<(i32, i32, u32), i32>,
    meanings: Vec<(i32, i32, u32)>,
}

impl Codes {
    fn of(&mut self, ilabel: i32, olabel: i32, weight: f32) -> i32 {
        let meaning = (ilabel, olabel, weight.to_bits());
        *self.numbers.entry(meaning).or_insert_with(|| {
            self.meanings.push(meaning);
            (self.meanings.len() - 1) as i32
        })
    }
}

/// Makes each class a state.
fn join(fst: &mut Fst, start: StateId, classes: &[u32]) {
    let mut numbers = vec![None; fst.states.len()];
    let mut count = 0;
    let mut number_of = |class: u32| {
        *numbers[class as usize].get_or_insert_with(|| {
            count += 1;
            count - 1
        })
    };
    // Classes are numbered in the order of their first states.
    let renumbered: Vec<StateId> = classes.iter().map(|&class| number_of(class)).collect();
    let mut states: Vec<State> = Vec::with_capacity(count as usize);
    for (s, state) in std::mem::take(&mut fst.states).into_iter().enumerate() {
        if (renumbered[s] as usize) < states.len() {
            continue;
        }
        let mut arcs = state.arcs;
        arcs.iter_mut().for_each(|arc| arc.next = renumbered[arc.next as usize]);
        let key = |arc: &Arc| (arc.ilabel, arc.next);
        arcs.sort_unstable_by_key(key);
        arcs.dedup_by_key(|arc| key(arc));
        states.push(State { final_weight: state.final_weight, arcs });
    }
    *fst = Fst { start: Some(renumbered[start as usize]), states };
}
