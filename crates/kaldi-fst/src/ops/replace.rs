//! Putting FSTs in the place of arcs (recursive transition networks, as far as they do not recur).

use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::fst::{Arc, EPSILON, Fst, StateId};
use crate::state_table::{Expanded, LastInFirstOut, unfold};

/// Replaces, in the root, each arc that has a rule's label as output by a copy of this rule.
///
/// The arc that calls a rule keeps its input label and cost, loses its output label, and leads to the start of the
/// copy. With `epsilon_on_replace` it loses its input label too. From the ends of the copy, arcs without labels and
/// with the final costs lead to the target of the replaced arc. Rules may call rules; the root has a label too.
///
/// A rule that calls itself, directly or through others, is an error.
pub fn replace(root: (&Fst, i32), rules: &[(&Fst, i32)], epsilon_on_replace: bool) -> Result<Fst> {
    let fsts: Vec<&Fst> = std::iter::once(root.0).chain(rules.iter().map(|(fst, _)| *fst)).collect();
    let mut by_label: FxHashMap<i32, usize> = FxHashMap::default();
    for (i, label) in std::iter::once(root.1).chain(rules.iter().map(|(_, label)| *label)).enumerate() {
        // The last of several rules with a label counts.
        by_label.insert(label, i);
    }
    check_recursion(&fsts, &by_label)?;
    let Some(start) = root.0.start else { return Ok(Fst::default()) };
    let start = Place { fst: 0, state: start, back: None };
    let mut out = unfold(start, |place: Place, out: &mut Expanded<_, f32, LastInFirstOut>| {
        let data = fsts[place.fst].state(place.state);
        if let Some(back) = place.back.filter(|_| data.is_final()) {
            out.push(Arc::new(EPSILON, data.final_weight, back));
        }
        for arc in &data.arcs {
            let next = out.number(Place { state: arc.next, ..place });
            match by_label.get(&arc.olabel).filter(|_| arc.olabel != EPSILON) {
                None => out.push(Arc { next, ..*arc }),
                Some(&rule) => {
                    // Through an empty rule there is no way.
                    let Some(state) = fsts[rule].start else { continue };
                    let ilabel = if epsilon_on_replace { EPSILON } else { arc.ilabel };
                    out.add((ilabel, EPSILON), arc.weight, Place { fst: rule, state, back: Some(next) });
                }
            }
        }
        if place.back.is_some() { f32::INFINITY } else { data.final_weight }
    });
    super::connect(&mut out);
    Ok(out)
}

/// A state of a rule, and the state of the result that its ends lead back to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    fst: usize,
    state: StateId,
    back: Option<StateId>,
}

fn check_recursion(fsts: &[&Fst], by_label: &FxHashMap<i32, usize>) -> Result<()> {
    // An FST with the rules as states and the calls as arcs.
    let mut calls: Fst = Fst::default();
    calls.states.resize_with(fsts.len(), Default::default);
    for (caller, fst) in calls.states.iter_mut().zip(fsts) {
        let labels = fst.states.iter().flat_map(|state| &state.arcs).map(|arc| arc.olabel);
        let called = labels.filter(|&label| label != EPSILON).filter_map(|label| by_label.get(&label));
        caller.arcs = called.map(|&rule| Arc::new(EPSILON, 0.0, rule as StateId)).collect();
        caller.arcs.sort_by_key(|arc| arc.next);
        caller.arcs.dedup();
    }
    super::topological_order(&calls).map(|_| ()).map_err(|error| match error {
        Error::Cyclic { state } => {
            let label = by_label.iter().find(|&(_, &rule)| rule == state as usize);
            Error::Recursive { label: label.map_or(0, |(&label, _)| label) }
        }
        other => other,
    })
}
