//! Hopcroft's partition of the states of an acceptor ("An n log n algorithm for minimizing states in a finite automaton",
//! 1971). It follows the order of OpenFst's `CyclicMinimizer`, which decides the state of each class that keeps its number.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::fst::{Fst, StateId};
use crate::ops::reference_order::{pop_heap, push_heap, sort};

/// Returns a state of each class: the one whose number OpenFst keeps. `ends` has the label of ending in each state, if it is
/// final. The FST is connected. `first` says which states are together in the first partition.
pub(super) fn heads(fst: &Fst, ends: &[Option<i32>], first: FirstPartition) -> Vec<StateId> {
    let before = Predecessors::of(fst, ends);
    let mut partition = Partition::of(fst, ends, first);
    let mut waiting: Vec<u32> = (0..partition.classes.len() as u32).collect();
    let mut heap: Vec<Cursor> = Vec::new();
    while let Some(class) = waiting.pop() {
        before.open(&partition, class, &mut heap);
        let mut last_label = None;
        while let Some(mut cursor) = pop_heap(&mut heap, &later) {
            let from = before.arcs[cursor.at].from;
            if last_label != Some(cursor.label) {
                partition.split(&mut waiting);
            }
            partition.mark(from);
            last_label = Some(cursor.label);
            cursor.at += 1;
            if cursor.at < cursor.end {
                cursor.label = before.arcs[cursor.at].label;
                push_heap(&mut heap, cursor, &later);
            }
        }
        partition.split(&mut waiting);
    }
    // The last state stands for all ends.
    let last = fst.states.len() as StateId;
    partition.classes.iter().filter_map(|class| class.rest.head).filter(|&head| head != last).collect()
}

/// A criterion by which states are together at the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstPartition {
    /// The same labels in the same order of arcs, as in OpenFst. Equivalent states may be separated for good.
    ByOrderedLabels,
    /// The same set of labels.
    ByLabels,
}

/// The arcs into a state that have not been looked at.
#[derive(Clone, Copy)]
struct Cursor {
    label: i32,
    at: usize,
    end: usize,
}

/// The smallest label is the top of the heap.
fn later(a: &Cursor, b: &Cursor) -> bool {
    a.label > b.label
}

#[derive(Clone, Copy, Default)]
struct Incoming {
    label: i32,
    from: StateId,
}

/// The arcs into each state, in the order of labels.
struct Predecessors {
    ranges: Vec<Range<usize>>,
    arcs: Vec<Incoming>,
}

impl Predecessors {
    fn of(fst: &Fst, ends: &[Option<i32>]) -> Predecessors {
        let last = fst.states.len();
        let all = || {
            fst.numbered().zip(ends).flat_map(move |((from, state), end)| {
                let arcs = state.arcs.iter().map(|arc| (arc.ilabel, arc.next as usize));
                arcs.chain(end.map(|label| (label, last)))
                    .map(move |(label, next)| (next, Incoming { label, from }))
            })
        };
        let mut counts = vec![0; last + 1];
        all().for_each(|(next, _)| counts[next] += 1);
        let mut begin = 0;
        let mut ranges: Vec<Range<usize>> = Vec::with_capacity(counts.len());
        for count in counts {
            ranges.push(begin..begin);
            begin += count;
        }
        let mut arcs = vec![Incoming::default(); begin];
        for (next, arc) in all() {
            arcs[ranges[next].end] = arc;
            ranges[next].end += 1;
        }
        for range in &ranges {
            sort(&mut arcs[range.clone()], |arc| arc.label);
        }
        Predecessors { ranges, arcs }
    }

    fn open(&self, partition: &Partition, class: u32, heap: &mut Vec<Cursor>) {
        let mut next = partition.classes[class as usize].rest.head;
        while let Some(state) = next {
            let Range { start: at, end } = self.ranges[state as usize].clone();
            if at < end {
                push_heap(heap, Cursor { label: self.arcs[at].label, at, end }, &later);
            }
            next = partition.states[state as usize].next;
        }
    }
}

/// A doubly linked list of states.
#[derive(Clone, Copy, Default)]
struct List {
    head: Option<StateId>,
    len: usize,
}

#[derive(Clone, Copy, Default)]
struct Class {
    marked: List,
    rest: List,
}

#[derive(Clone, Copy)]
struct Member {
    class: u32,
    is_marked: bool,
    before: Option<StateId>,
    next: Option<StateId>,
}

struct Partition {
    states: Vec<Member>,
    classes: Vec<Class>,
    /// Classes with marked states.
    touched: Vec<u32>,
}

impl Partition {
    fn of(fst: &Fst, ends: &[Option<i32>], first: FirstPartition) -> Partition {
        let mut partition = Partition {
            states: Vec::with_capacity(fst.states.len() + 1),
            classes: Vec::new(),
            touched: Vec::new(),
        };
        let mut classes: FxHashMap<Vec<i32>, u32> = FxHashMap::default();
        for (state, end) in fst.states.iter().zip(ends) {
            let mut labels: Vec<i32> = state.arcs.iter().map(|arc| arc.ilabel).chain(*end).collect();
            if first == FirstPartition::ByLabels {
                labels.sort_unstable();
            }
            labels.dedup();
            let new = classes.len() as u32;
            partition.add(*classes.entry(labels).or_insert(new));
        }
        partition.add(classes.len() as u32);
        partition
    }

    /// Adds the next state to a class, in front of its other states.
    fn add(&mut self, class: u32) {
        let state = self.states.len() as StateId;
        if class as usize == self.classes.len() {
            self.classes.push(Class::default());
        }
        self.states.push(Member { class, is_marked: false, before: None, next: None });
        let mut list = self.classes[class as usize].rest;
        self.prepend(&mut list, state);
        self.classes[class as usize].rest = list;
    }

    fn prepend(&mut self, list: &mut List, state: StateId) {
        if let Some(head) = list.head {
            self.states[head as usize].before = Some(state);
        }
        self.states[state as usize].before = None;
        self.states[state as usize].next = list.head;
        *list = List { head: Some(state), len: list.len + 1 };
    }

    /// Moves a state to the front of the marked states of its class.
    fn mark(&mut self, state: StateId) {
        let member = self.states[state as usize];
        let mut class = self.classes[member.class as usize];
        if member.is_marked || class.rest.len + class.marked.len == 1 {
            return;
        }
        match member.before {
            Some(before) => self.states[before as usize].next = member.next,
            None => class.rest.head = member.next,
        }
        if let Some(next) = member.next {
            self.states[next as usize].before = member.before;
        }
        class.rest.len -= 1;
        if class.marked.head.is_none() {
            self.touched.push(member.class);
        }
        self.states[state as usize].is_marked = true;
        self.prepend(&mut class.marked, state);
        self.classes[member.class as usize] = class;
    }

    /// Separates marked states from the rest of their classes. The smaller part becomes a new class, which is to be looked at.
    fn split(&mut self, waiting: &mut Vec<u32>) {
        for touched in std::mem::take(&mut self.touched) {
            let Class { marked, rest } = self.classes[touched as usize];
            let mut next = marked.head;
            while let Some(state) = next {
                self.states[state as usize].is_marked = false;
                next = self.states[state as usize].next;
            }
            let (stays, moves) = match rest.len {
                0 => (marked, rest),
                rest_len if rest_len < marked.len => (marked, rest),
                _ => (rest, marked),
            };
            self.classes[touched as usize] = Class { rest: stays, marked: List::default() };
            if moves.len == 0 {
                continue;
            }
            let new = self.classes.len() as u32;
            self.classes.push(Class { rest: moves, marked: List::default() });
            let mut next = moves.head;
            while let Some(state) = next {
                self.states[state as usize].class = new;
                next = self.states[state as usize].next;
            }
            waiting.push(new);
        }
    }
}
