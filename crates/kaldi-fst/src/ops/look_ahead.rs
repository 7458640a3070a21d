//! Transducers for look-ahead composition: the reachable output labels of each state, numbered so that they form few
//! intervals (Allauzen, Riley and Schalkwyk, "A generalized composition algorithm for weighted finite-state
//! transducers", 2009).
//!
//! Each label, and the end of paths, counts as a state of its own, and arcs with this label lead to it. A depth-first
//! search over the other arcs numbers the labels in the order of their discovery. Then the labels below one state of
//! the search tree have numbers without gaps.

use rustc_hash::FxHashMap;

use super::{Side, components::Components, relabel, sort_arcs};
use crate::flat::FlatFst;
use crate::fst::{Arc, EPSILON, Fst, State, StateId};
use crate::look_ahead::{LookAheadFst, ReachBuilder};

/// A transducer with look-ahead, and the change of its output labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Relabelled {
    pub fst: LookAheadFst,
    /// Pairs of old and new labels, for the input labels of the other FST of the composition.
    ///
    /// After the pairs of the transducer's own labels come other labels that collide with new ones. They all become the
    /// first unused number.
    pub pairs: Vec<(i32, i32)>,
}

/// Labels that can come next, in ascending order: from the first number to before the second.
type Intervals = Vec<[i32; 2]>;

/// Numbers the output labels and finds out which of them each state can reach.
pub fn look_ahead(mut fst: Fst) -> Relabelled {
    let (transformed, targets) = redirect(&fst);
    let search = condense(&transformed, fst.states.len()).search();
    let number_of = |target: StateId| search.numbers[search.components[target as usize] as usize];
    let new_labels: FxHashMap<i32, i32> =
        targets.labels.iter().map(|(&label, &target)| (label, number_of(target))).collect();
    let mut reach = ReachBuilder::new(targets.end.map_or(NO_LABEL, number_of));
    for s in 0..fst.states.len() {
        let added = reach.add(&search.intervals[search.components[s] as usize]);
        added.unwrap_or_else(|why| unreachable!("intervals of state {s}: {why}"));
    }
    let reach = reach.build();
    relabel(&mut fst, Side::Output, &new_labels);
    sort_arcs(&mut fst, Side::Output);
    let count = new_labels.len() as i32 + i32::from(targets.end.is_some());
    let mut pairs: Vec<(i32, i32)> = new_labels.iter().map(|(&old, &new)| (old, new)).collect();
    pairs.sort_unstable();
    let others = (1..=count).filter(|label| !new_labels.contains_key(label));
    pairs.extend(others.map(|label| (label, count + 1)));
    Relabelled { fst: LookAheadFst { fst: FlatFst::from(&fst), reach }, pairs }
}

/// The label for the end of paths if there is no final state.
const NO_LABEL: i32 = -1;

/// The states that stand for labels and for the end of paths.
#[derive(Default)]
struct Targets {
    labels: FxHashMap<i32, StateId>,
    end: Option<StateId>,
}

/// Makes arcs with an output label lead to the state of this label, and final states have an arc to the state of the
/// end. The last state is the start; it leads to all states that no arc leads to.
fn redirect(fst: &Fst) -> (Fst, Targets) {
    let mut targets = Targets::default();
    let mut states: Vec<State> = Vec::with_capacity(fst.states.len() + 1);
    let mut count = fst.states.len() as StateId;
    let mut new_state = || {
        count += 1;
        count - 1
    };
    for state in &fst.states {
        let mut arcs: Vec<Arc> = Vec::with_capacity(state.arcs.len() + 1);
        for arc in &state.arcs {
            let next = match arc.olabel {
                EPSILON => arc.next,
                label => *targets.labels.entry(label).or_insert_with(&mut new_state),
            };
            arcs.push(Arc { ilabel: EPSILON, olabel: EPSILON, weight: 0.0, next });
        }
        if state.is_final() {
            let next = *targets.end.get_or_insert_with(&mut new_state);
            arcs.push(Arc { ilabel: EPSILON, olabel: EPSILON, weight: 0.0, next });
        }
        // Several arcs to one state are one here.
        let mut seen = rustc_hash::FxHashSet::default();
        arcs.retain(|arc| seen.insert(arc.next));
        states.push(State { arcs, ..State::default() });
    }
    states.resize_with(count as usize, || State { final_weight: 0.0, ..State::default() });
    let mut entered = vec![false; states.len()];
    states.iter().flat_map(|state| &state.arcs).for_each(|arc| entered[arc.next as usize] = true);
    let roots = (0..count).filter(|&s| !entered[s as usize]);
    let arcs = roots.map(|next| Arc { ilabel: EPSILON, olabel: EPSILON, weight: 0.0, next }).collect();
    states.push(State { arcs, ..State::default() });
    (Fst { start: Some(count), states }, targets)
}

/// The strongly connected components as states, which no cycle contains.
struct Condensed {
    components: Vec<u32>,
    /// Components that arcs of a component lead to.
    next: Vec<Vec<u32>>,
    /// Components that are labels.
    is_label: Vec<bool>,
    start: u32,
}

/// `count` states are not labels.
fn condense(fst: &Fst, count: usize) -> Condensed {
    let components = Components::of(fst).number;
    let number = components.iter().max().map_or(0, |&last| last as usize + 1);
    let mut next = vec![Vec::new(); number];
    let mut is_label = vec![false; number];
    for (s, state) in fst.states.iter().enumerate() {
        let own = components[s];
        let others = state.arcs.iter().map(|arc| components[arc.next as usize]).filter(|&c| c != own);
        next[own as usize].extend(others);
        is_label[own as usize] |= s >= count && state.is_final();
    }
    let start = fst.start.map_or(0, |start| components[start as usize]);
    Condensed { components, next, is_label, start }
}

/// The outcome of the depth-first search, by component.
struct Found {
    components: Vec<u32>,
    /// The number of each label.
    numbers: Vec<i32>,
    intervals: Vec<Intervals>,
}

impl Condensed {
    fn search(self) -> Found {
        let count = self.next.len();
        let mut found = Found {
            components: self.components,
            numbers: vec![NO_LABEL; count],
            intervals: vec![Intervals::new(); count],
        };
        let mut entered = vec![false; count];
        let mut labels = 0;
        // Arcs lead to lower numbers.
        for root in std::iter::once(self.start).chain((0..count as u32).rev()) {
            let mut path: Vec<(u32, usize)> = Vec::new();
            let mut enter = |c: u32, path: &mut Vec<(u32, usize)>, found: &mut Found| {
                if std::mem::replace(&mut entered[c as usize], true) {
                    return;
                }
                if self.is_label[c as usize] {
                    labels += 1;
                    found.numbers[c as usize] = labels;
                    found.intervals[c as usize].push([labels, labels + 1]);
                }
                path.push((c, 0));
            };
            enter(root, &mut path, &mut found);
            while let Some((c, position)) = path.last_mut() {
                let next = self.next[*c as usize].get(*position).copied();
                *position += 1;
                match next {
                    Some(next) => enter(next, &mut path, &mut found),
                    None => {
                        let c = *c as usize;
                        path.pop();
                        // All components behind this one are complete.
                        let below = self.next[c].iter().flat_map(|&next| &found.intervals[next as usize]);
                        let own = &found.intervals[c];
                        found.intervals[c] = union(own.iter().chain(below).copied().collect());
                    }
                }
            }
        }
        found
    }
}

/// Joins intervals that overlap or touch.
fn union(mut intervals: Intervals) -> Intervals {
    intervals.sort_unstable();
    let mut joined = Intervals::new();
    for [begin, end] in intervals {
        match joined.last_mut() {
            Some(last) if begin <= last[1] => last[1] = last[1].max(end),
            _ => joined.push([begin, end]),
        }
    }
    joined
}
