//! Pushes output labels: each state writes the common prefix of all its continuations at once.

use std::collections::VecDeque;

use super::super::components::Components;
use crate::fst::{Arc, EPSILON, Fst, StateId};
use crate::state_table::{Expanded, StateTable, unfold};

type Labels = Vec<i32>;

/// Output strings by their numbers; 0 is the empty one.
pub(in super::super) struct Strings(StateTable<Labels>);

impl Strings {
    fn new() -> Strings {
        Strings(StateTable::starting_with(Labels::new()))
    }

    fn number(&mut self, labels: Labels) -> i32 {
        self.0.number(labels) as i32
    }

    fn get(&self, number: i32) -> &[i32] {
        self.0.key(number as StateId)
    }
}

/// Moves output labels towards the start. The output labels of the result are numbers of strings.
pub(in super::super) fn push_to_start(mut fst: Fst, remove_common_prefix: bool) -> (Fst, Strings) {
    let mut strings = Strings::new();
    let Some(start) = fst.start else { return (fst, strings) };
    let prefixes = common_prefixes(&fst);
    let initial = Components::of(&fst).cyclic(&fst, start as usize);
    let common = prefixes[start as usize].clone().unwrap_or_default();
    for s in 0..fst.states.len() {
        let mut strip = prefixes[s].as_ref().map_or(0, Vec::len);
        if s == start as usize && !initial && !remove_common_prefix {
            // The common prefix of all paths stays on the first arcs.
            strip -= common.len();
        }
        for a in 0..fst.states[s].arcs.len() {
            let arc = fst.states[s].arcs[a];
            let all = label(&arc).chain(prefixes[arc.next as usize].iter().flatten().copied());
            fst.states[s].arcs[a].olabel = strings.number(all.skip(strip).collect());
        }
    }
    if !common.is_empty() && initial {
        // It gets an arc of its own. (As in OpenFst, the arc stays where the prefix is removed.)
        let first = fst.add_state();
        let olabel = if remove_common_prefix { EPSILON } else { strings.number(common) };
        fst.state_mut(first).arcs.push(Arc { ilabel: EPSILON, olabel, weight: 0.0, next: start });
        fst.start = Some(first);
    }
    (fst, strings)
}

fn label(arc: &Arc) -> impl Iterator<Item = i32> + use<> {
    Some(arc.olabel).filter(|&label| label != EPSILON).into_iter()
}

/// Common prefix of all paths from a state to an end; `None` if there is no such path.
fn common_prefixes(fst: &Fst) -> Vec<Option<Labels>> {
    let mut before: Vec<Vec<StateId>> = vec![Vec::new(); fst.states.len()];
    for (s, state) in fst.numbered() {
        state.arcs.iter().for_each(|arc| before[arc.next as usize].push(s));
    }
    let mut prefixes: Vec<Option<Labels>> = vec![None; fst.states.len()];
    let mut queue: VecDeque<StateId> = VecDeque::new();
    for (s, _) in fst.numbered().filter(|(_, state)| state.is_final()) {
        prefixes[s as usize] = Some(Labels::new());
        queue.extend(&before[s as usize]);
    }
    // Prefixes only get shorter, so this ends.
    while let Some(s) = queue.pop_front() {
        let data = fst.state(s);
        let mut common = data.is_final().then(Labels::new);
        for arc in &data.arcs {
            let Some(rest) = &prefixes[arc.next as usize] else { continue };
            let written = label(arc).chain(rest.iter().copied());
            match &mut common {
                None => common = Some(written.collect()),
                Some(common) => {
                    let same = common.iter().zip(written).take_while(|(a, b)| **a == *b).count();
                    common.truncate(same);
                }
            }
        }
        if common != prefixes[s as usize] {
            prefixes[s as usize] = common;
            queue.extend(&before[s as usize]);
        }
    }
    prefixes
}

/// A state of the result: a state of the FST (`None` behind all), and labels that are still to be written.
type Place = (Option<StateId>, Labels);

/// Replaces strings by labels. An arc writes the first label of its string; the rest is written by the arcs that follow, or by
/// arcs of its own at the end.
pub(in super::super) fn write(fst: &Fst, strings: &Strings) -> Fst {
    let Some(start) = fst.start else { return Fst::default() };
    let mut ends: Vec<(StateId, i32, f32)> = Vec::new();
    let mut out =
        unfold((Some(start), Labels::new()), |(state, pending): Place, out: &mut Expanded<_, f32>| {
            let data = state.map(|state| fst.state(state));
            for arc in data.iter().flat_map(|data| &data.arcs) {
                let all = [&pending, strings.get(arc.olabel)].concat();
                let rest = all.get(1..).unwrap_or_default().to_vec();
                let olabel = all.first().copied().unwrap_or(EPSILON);
                out.add((arc.ilabel, olabel), arc.weight, (Some(arc.next), rest));
            }
            let end = data.map_or(0.0, |data| data.final_weight);
            let mut final_weight = f32::INFINITY;
            if end < f32::INFINITY {
                match *pending {
                    [] => final_weight = end,
                    [last] => ends.push((out.state(), last, end)),
                    [first, ..] => out.add((EPSILON, first), end, (None, pending[1..].to_vec())),
                }
            }
            final_weight
        });
    if !ends.is_empty() {
        let end = out.add_state();
        out.state_mut(end).final_weight = 0.0;
        for (s, olabel, weight) in ends {
            out.state_mut(s).arcs.push(Arc { ilabel: EPSILON, olabel, weight, next: end });
        }
    }
    out
}
