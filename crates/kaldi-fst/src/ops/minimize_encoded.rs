//! Minimization without pushing: an arc's labels and its rounded cost together form one label. States that accept the
//! same strings of such labels are merged.

mod hopcroft;
mod partition;

use crate::fst::{Arc, EPSILON, Fst, State, StateId};
use crate::ops::connect::connect;
use crate::ops::order::topological_order;
use crate::ops::semiring::quantize;
use crate::state_table::StateTable;
use hopcroft::FirstPartition;
use partition::coarsest_partition;

/// Rounds all costs to multiples of `delta`, connects the FST and merges equivalent states.
///
/// If several arcs of a state have the same labels and cost, states count as equivalent if they simulate each other
/// step by step (bisimulation). This merges fewer states than possible. Arcs come out in the order in which their
/// combinations of labels and cost first occur. Each class keeps the number of the state that OpenFst keeps, and classes
/// are in the order of these numbers. (If arcs of a state have the same labels and cost, OpenFst merges only states with
/// arcs in the same order, unless they are sorted before.)
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
        let kept = match topological_order(fst) {
            Ok(order) => kept_of_acyclic(fst, &order, &classes),
            Err(_) => {
                let end =
                    |state: &State| state.is_final().then(|| codes.of(EPSILON, EPSILON, state.final_weight));
                let ends: Vec<Option<i32>> = fst.states.iter().map(end).collect();
                kept_of_cyclic(fst, &ends, &classes)
            }
        };
        join(fst, start, &classes, &kept);
    }
    for arc in fst.states.iter_mut().flat_map(|state| &mut state.arcs) {
        let (ilabel, olabel, _) = *codes.0.key(arc.ilabel as StateId);
        (arc.ilabel, arc.olabel) = (ilabel, olabel);
    }
}

/// Numbers of combinations of labels and cost.
#[derive(Default)]
struct Codes(StateTable<(i32, i32, u32)>);

impl Codes {
    fn of(&mut self, ilabel: i32, olabel: i32, weight: f32) -> i32 {
        self.0.number((ilabel, olabel, weight.to_bits())) as i32
    }
}

/// Returns the state that OpenFst keeps of each class if there are no cycles. The height of a state is the number of arcs of
/// its longest path to an end. Among the classes of one height, the class with the largest number keeps its largest state.
/// Other classes keep their smallest one.
fn kept_of_acyclic(fst: &Fst, order: &[StateId], classes: &[u32]) -> Vec<StateId> {
    let mut heights = vec![0; fst.states.len()];
    for &s in order.iter().rev() {
        let through = fst.state(s).arcs.iter().map(|arc| heights[arc.next as usize] + 1);
        // Ending is an arc to a last state.
        heights[s as usize] = through.max().unwrap_or(1);
    }
    let mut largest = vec![0; heights.iter().max().map_or(0, |height| height + 1)];
    (0..).zip(&heights).for_each(|(s, &height)| largest[height] = s);
    let mut kept = kept_first(classes);
    for s in largest {
        kept[classes[s as usize] as usize] = s;
    }
    kept
}

/// Returns the state that OpenFst keeps of each class if there are cycles, as far as it finds the same classes.
fn kept_of_cyclic(fst: &Fst, ends: &[Option<i32>], classes: &[u32]) -> Vec<StateId> {
    let kept = kept_first(classes);
    for first in [FirstPartition::ByOrderedLabels, FirstPartition::ByLabels] {
        let heads = hopcroft::heads(fst, ends, first);
        let mut found = vec![None; kept.len()];
        heads.iter().for_each(|&head| found[classes[head as usize] as usize] = Some(head));
        let found: Option<Vec<StateId>> = found.into_iter().collect();
        if let Some(found) = found.filter(|_| heads.len() == kept.len()) {
            return found;
        }
    }
    kept
}

/// The first state of each class.
fn kept_first(classes: &[u32]) -> Vec<StateId> {
    let mut kept = vec![StateId::MAX; classes.iter().max().map_or(0, |&last| last as usize + 1)];
    for (s, &class) in (0..).zip(classes) {
        let first = &mut kept[class as usize];
        *first = s.min(*first);
    }
    kept
}

/// Makes each class a state: the arcs are those of the state that is kept, and classes are in the order of these states.
fn join(fst: &mut Fst, start: StateId, classes: &[u32], kept: &[StateId]) {
    let mut by_state: Vec<u32> = (0..kept.len() as u32).collect();
    by_state.sort_unstable_by_key(|&class| kept[class as usize]);
    let mut numbers = vec![0; kept.len()];
    (0..).zip(&by_state).for_each(|(number, &class)| numbers[class as usize] = number);
    let renumbered = |s: StateId| -> StateId { numbers[classes[s as usize] as usize] };
    let mut states: Vec<State> = Vec::with_capacity(kept.len());
    for class in by_state {
        let state = std::mem::take(fst.state_mut(kept[class as usize]));
        let mut arcs = state.arcs;
        arcs.iter_mut().for_each(|arc| arc.next = renumbered(arc.next));
        let key = |arc: &Arc| (arc.ilabel, arc.next);
        arcs.sort_unstable_by_key(key);
        arcs.dedup_by_key(|arc| key(arc));
        states.push(State { final_weight: state.final_weight, arcs });
    }
    *fst = Fst { start: Some(renumbered(start)), states };
}
