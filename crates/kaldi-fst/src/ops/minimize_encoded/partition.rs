//! The coarsest partition of states such that states of one class have the same final cost, and arcs with the same
//! labels to the same classes.
//!
//! Partition refinement: when a class is split, its largest part keeps its number, and only states with arcs to the
//! other parts are examined again. So an arc is examined a logarithmic number of times (Hopcroft; with signatures of
//! states: Wißmann, Deifel, Milius and Schröder, "From generic partition refinement to weighted tree automata
//! minimization", 2021).

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHasher};

use crate::fst::{Fst, StateId};

/// Returns the class of each state. Of an arc, only the input label and the class of its target are compared.
pub(super) fn coarsest_partition(fst: &Fst) -> Vec<u32> {
    let mut refinement = Refinement::of(fst);
    while let Some(class) = refinement.queue.pop_front() {
        refinement.refine(class);
    }
    refinement.class_of
}

struct Class {
    /// Range of its states in `order`.
    range: Range<usize>,
    /// Number of its states, at the beginning, to examine again.
    marked: usize,
}

struct Refinement<'f> {
    fst: &'f Fst,
    /// States by class.
    order: Vec<StateId>,
    /// The position of each state in `order`.
    position: Vec<usize>,
    class_of: Vec<u32>,
    classes: Vec<Class>,
    /// Classes with marked states.
    queue: VecDeque<u32>,
    /// The position of each state's first predecessor.
    first_before: Vec<usize>,
    before: Vec<StateId>,
    signatures: Signatures,
}

impl Refinement<'_> {
    fn of(fst: &Fst) -> Refinement<'_> {
        let count = fst.states.len();
        let mut first_before = vec![0; count + 1];
        for arc in fst.states.iter().flat_map(|state| &state.arcs) {
            first_before[arc.next as usize + 1] += 1;
        }
        for s in 0..count {
            first_before[s + 1] += first_before[s];
        }
        let mut free = first_before.clone();
        let mut before = vec![0; fst.num_arcs()];
        for (s, state) in fst.numbered() {
            for arc in &state.arcs {
                before[free[arc.next as usize]] = s;
                free[arc.next as usize] += 1;
            }
        }
        Refinement {
            fst,
            order: (0..count as StateId).collect(),
            position: (0..count).collect(),
            class_of: vec![0; count],
            classes: vec![Class { range: 0..count, marked: count }],
            queue: VecDeque::from([0]),
            first_before,
            before,
            signatures: Signatures::default(),
        }
    }

    fn refine(&mut self, class: u32) {
        let Class { range, marked } = &mut self.classes[class as usize];
        let (range, marked) = (range.clone(), std::mem::take(marked));
        let states = &mut self.order[range.start..range.start + marked];
        let groups = self.signatures.group(self.fst, &self.class_of, states);
        let unmarked = range.len() - marked;
        if groups.len() + usize::from(unmarked > 0) == 1 {
            // All states of the class were marked and agree.
            return;
        }
        // The parts, by their beginnings. The marked states have been sorted into their groups.
        let mut parts: Vec<Range<usize>> = Vec::with_capacity(groups.len() + 1);
        let mut begin = range.start;
        for size in groups.into_iter().chain((unmarked > 0).then_some(unmarked)) {
            parts.push(begin..begin + size);
            begin += size;
        }
        for p in range.clone() {
            self.position[self.order[p] as usize] = p;
        }
        let largest = (0..parts.len()).max_by_key(|&part| parts[part].len()).unwrap_or(0);
        self.classes[class as usize].range = parts.swap_remove(largest);
        let first_new = self.classes.len() as u32;
        for (part, number) in parts.iter().zip(first_new..) {
            self.classes.push(Class { range: part.clone(), marked: 0 });
            self.order[part.clone()].iter().for_each(|&s| self.class_of[s as usize] = number);
        }
        for part in parts {
            // Marking changes the order within classes, of this one too.
            let states: Vec<StateId> = self.order[part].to_vec();
            for s in states {
                for i in self.first_before[s as usize]..self.first_before[s as usize + 1] {
                    self.mark(self.before[i]);
                }
            }
        }
    }

    fn mark(&mut self, state: StateId) {
        let number = self.class_of[state as usize];
        let class = &mut self.classes[number as usize];
        let (position, end_of_marked) = (self.position[state as usize], class.range.start + class.marked);
        if position < end_of_marked || class.range.len() == 1 {
            return;
        }
        let other = self.order[end_of_marked];
        self.order.swap(position, end_of_marked);
        self.position[other as usize] = position;
        self.position[state as usize] = end_of_marked;
        class.marked += 1;
        if class.marked == 1 {
            self.queue.push_back(number);
        }
    }
}

/// Behaviour of states: final cost, then pairs of label and class, sorted and without repeats.
#[derive(Default)]
struct Signatures {
    /// The signatures of all states at hand, one after the other.
    parts: Vec<u64>,
    own: Vec<u64>,
    /// The group found last for each hash.
    last: FxHashMap<u64, u32>,
    groups: Vec<Group>,
    /// For each state at hand, its group.
    group_of: Vec<u32>,
}

struct Group {
    signature: Range<usize>,
    size: usize,
    /// A group with the same hash.
    before: Option<u32>,
}

impl Signatures {
    /// Sorts the states so that states with the same signature are adjacent. Returns the number of states for each
    /// signature.
    fn group(&mut self, fst: &Fst, class_of: &[u32], states: &mut [StateId]) -> Vec<usize> {
        self.parts.clear();
        self.last.clear();
        self.groups.clear();
        self.group_of.clear();
        for &s in &*states {
            let state = fst.state(s);
            self.own.clear();
            self.own.extend(
                state
                    .arcs
                    .iter()
                    .map(|arc| u64::from(arc.ilabel as u32) << 32 | u64::from(class_of[arc.next as usize])),
            );
            self.own.sort_unstable();
            self.own.dedup();
            self.own.push(u64::from(state.final_weight.to_bits()));
            let group = self.find();
            self.group_of.push(group);
        }
        let sizes: Vec<usize> = self.groups.iter().map(|group| group.size).collect();
        if sizes.len() > 1 {
            let mut free: Vec<usize> =
                sizes.iter().scan(0, |end, size| Some(std::mem::replace(end, *end + size))).collect();
            let mut sorted = vec![0; states.len()];
            for (&s, &group) in states.iter().zip(&self.group_of) {
                sorted[free[group as usize]] = s;
                free[group as usize] += 1;
            }
            states.copy_from_slice(&sorted);
        }
        sizes
    }

    /// The group of the signature in `own`.
    fn find(&mut self) -> u32 {
        let mut hasher = FxHasher::default();
        self.own.hash(&mut hasher);
        let hash = hasher.finish();
        let mut candidate = self.last.get(&hash).copied();
        while let Some(number) = candidate {
            let group = &mut self.groups[number as usize];
            if self.parts[group.signature.clone()] == self.own[..] {
                group.size += 1;
                return number;
            }
            candidate = group.before;
        }
        let begin = self.parts.len();
        self.parts.extend_from_slice(&self.own);
        let number = self.groups.len() as u32;
        let before = self.last.insert(hash, number);
        self.groups.push(Group { signature: begin..self.parts.len(), size: 1, before });
        number
    }
}
