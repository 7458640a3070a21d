//! Pushes output labels. Towards the start, each state writes the common prefix of all its continuations at once. Towards the ends,
//! it leaves the common suffix of all paths to it to later arcs.

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
    let leaving =
        fst.states.iter().map(|state| state.arcs.iter().map(|arc| (arc.olabel, arc.next)).collect());
    let prefixes = common_prefixes(&leaving.collect::<Vec<_>>(), |s| fst.state(s).is_final());
    let initial = Components::of(&fst).cyclic(&fst, start as usize);
    let common = prefixes[start as usize].clone().unwrap_or_default();
    for s in 0..fst.states.len() {
        let mut strip = prefixes[s].as_ref().map_or(0, Vec::len);
        if s == start as usize && !initial && !remove_common_prefix {
            // The common prefix of all paths stays on the first arcs.
            strip -= common.len();
        }
        for arc in &mut fst.states[s].arcs {
            let all = label(arc.olabel).chain(prefixes[arc.next as usize].iter().flatten().copied());
            arc.olabel = strings.number(all.skip(strip).collect());
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

/// Moves output labels towards the ends. The output labels of the result are numbers of strings. The vector has the labels that a path
/// writes when it ends, for each state.
pub(in super::super) fn push_to_ends(
    mut fst: Fst,
    remove_common_suffix: bool,
) -> (Fst, Strings, Vec<Labels>) {
    let mut strings = Strings::new();
    let Some(start) = fst.start else { return (fst, strings, Vec::new()) };
    let mut entering = vec![Vec::new(); fst.states.len()];
    for (s, state) in fst.numbered() {
        state.arcs.iter().for_each(|arc| entering[arc.next as usize].push((arc.olabel, s)));
    }
    let mut suffixes = common_prefixes(&entering, |s| s == start);
    suffixes.iter_mut().flatten().for_each(|suffix| suffix.reverse());
    for s in 0..fst.states.len() {
        let Some(before) = &suffixes[s] else { continue };
        for arc in &mut fst.states[s].arcs {
            let mut all: Labels = before.iter().copied().chain(label(arc.olabel)).collect();
            let moved = suffixes[arc.next as usize].as_ref().map_or(0, Vec::len);
            all.truncate(all.len() - moved);
            arc.olabel = strings.number(all);
        }
    }
    if remove_common_suffix {
        // (A final state that no path leads to has no suffix.)
        let mut ends: Vec<&mut Labels> = fst
            .states
            .iter()
            .zip(&mut suffixes)
            .filter(|(state, _)| state.is_final())
            .filter_map(|(_, end)| end.as_mut())
            .collect();
        let shared =
            |a: &Labels, b: &Labels| a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        let common = ends.iter().map(|end| shared(ends[0], end)).min().unwrap_or(0);
        ends.iter_mut().for_each(|end| end.truncate(end.len() - common));
    }
    (fst, strings, suffixes.into_iter().map(Option::unwrap_or_default).collect())
}

fn label(label: i32) -> impl Iterator<Item = i32> {
    Some(label).filter(|&label| label != EPSILON).into_iter()
}

/// Returns the common prefix of the labels of all paths from each state to an end; `None` for a state without such a path. `arcs` has
/// the label and the target of each arc, state by state.
fn common_prefixes(arcs: &[Vec<(i32, StateId)>], is_end: impl Fn(StateId) -> bool) -> Vec<Option<Labels>> {
    let mut before: Vec<Vec<StateId>> = vec![Vec::new(); arcs.len()];
    for (s, arcs) in (0..).zip(arcs) {
        arcs.iter().for_each(|&(_, next)| before[next as usize].push(s));
    }
    let mut prefixes: Vec<Option<Labels>> = vec![None; arcs.len()];
    let mut queue: VecDeque<StateId> = VecDeque::new();
    for s in (0..arcs.len() as StateId).filter(|&s| is_end(s)) {
        prefixes[s as usize] = Some(Labels::new());
        queue.extend(&before[s as usize]);
    }
    // Prefixes only get shorter, so this ends.
    while let Some(s) = queue.pop_front() {
        let mut common = is_end(s).then(Labels::new);
        for &(olabel, next) in &arcs[s as usize] {
            let Some(rest) = &prefixes[next as usize] else { continue };
            let written = label(olabel).chain(rest.iter().copied());
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
/// arcs of its own at the end. `ends` has the labels that ending in a state writes, or is empty.
pub(in super::super) fn write(fst: &Fst, strings: &Strings, ends: &[Labels]) -> Fst {
    let Some(start) = fst.start else { return Fst::default() };
    let mut last_arcs: Vec<(StateId, i32, f32)> = Vec::new();
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
                let own = state.and_then(|state| ends.get(state as usize));
                let all = [&pending[..], own.map_or(&[], |own| own)].concat();
                match all[..] {
                    [] => final_weight = end,
                    [last] => last_arcs.push((out.state(), last, end)),
                    [first, ..] => out.add((EPSILON, first), end, (None, all[1..].to_vec())),
                }
            }
            final_weight
        });
    if !last_arcs.is_empty() {
        let end = out.add_state();
        out.state_mut(end).final_weight = 0.0;
        for (s, olabel, weight) in last_arcs {
            out.state_mut(s).arcs.push(Arc { ilabel: EPSILON, olabel, weight, next: end });
        }
    }
    out
}
