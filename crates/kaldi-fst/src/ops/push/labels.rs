//! Pushes output labels: each state writes the common prefix of all its continuations at once.

use std::collections::VecDeque;

use crate::fst::{Arc, EPSILON, Fst, StateId};

type Labels = Vec<i32>;

/// Moves output labels towards the start. Arcs that write several labels become chains through new states.
pub(super) fn push_to_start(mut fst: Fst, remove_common_prefix: bool) -> Fst {
    let Some(start) = fst.start else { return fst };
    let prefixes = common_prefixes(&fst);
    let mut strings: Vec<Vec<Labels>> = Vec::with_capacity(fst.states.len());
    for (s, state) in fst.states.iter().enumerate() {
        let strip = prefixes[s].as_ref().map_or(0, Vec::len);
        let written = |arc: &Arc| {
            let all = label(arc).chain(prefixes[arc.next as usize].iter().flatten().copied());
            all.skip(strip).collect()
        };
        strings.push(state.arcs.iter().map(written).collect());
    }
    let common = prefixes[start as usize].clone().filter(|_| !remove_common_prefix).unwrap_or_default();
    if !common.is_empty() {
        // The common prefix of all paths gets an arc of its own.
        let first = fst.add_state();
        fst.state_mut(first).arcs.push(Arc::new(EPSILON, 0.0, start));
        strings.push(vec![common]);
        fst.start = Some(first);
    }
    write(&mut fst, strings);
    fst
}

fn label(arc: &Arc) -> impl Iterator<Item = i32> {
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

/// Writes the output strings: the first label on the arc itself, the others on new arcs behind it.
fn write(fst: &mut Fst, strings: Vec<Vec<Labels>>) {
    for (s, strings) in strings.into_iter().enumerate() {
        for (i, labels) in strings.into_iter().enumerate() {
            let next = fst.states[s].arcs[i].next;
            fst.states[s].arcs[i].olabel = labels.first().copied().unwrap_or(EPSILON);
            let mut last = (s, i);
            for &olabel in labels.iter().skip(1) {
                let state = fst.add_state();
                fst.states[last.0].arcs[last.1].next = state;
                fst.state_mut(state).arcs.push(Arc { ilabel: EPSILON, olabel, weight: 0.0, next });
                last = (state as usize, 0);
            }
        }
    }
}
