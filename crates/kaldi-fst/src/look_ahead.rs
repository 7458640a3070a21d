//! Transducers with the set of reachable output labels for each state (type `olabel_lookahead` of OpenFst: Allauzen,
//! Riley and Schalkwyk, "A generalized composition algorithm for weighted finite-state transducers", 2009).
//!
//! Labels are numbered so that the set of each state consists of few intervals. An FST that is composed with such a
//! transducer has the same numbers as its input labels.

use std::ops::Range;

use crate::flat::FlatFst;
use crate::fst::{EPSILON, StateId};

/// A transducer, the arcs of each state in the order of their output labels.
#[derive(Debug, Clone, PartialEq)]
pub struct LookAheadFst {
    pub fst: FlatFst,
    pub reach: Reach,
}

/// The output labels that can come next on paths from each state.
#[derive(Debug, Clone, PartialEq)]
pub struct Reach {
    /// The label that stands for the end of a path.
    pub final_label: i32,
    /// First interval of each state, and behind that the number of all intervals.
    pub first_intervals: Vec<u32>,
    /// Ranges of labels: the first label, and the end after the last one; in ascending order for each state.
    pub intervals: Vec<[i32; 2]>,
}

impl Reach {
    /// The intervals of a state: their first labels, and the labels behind their last ones.
    pub fn intervals(&self, state: StateId) -> &[[i32; 2]] {
        let s = state as usize;
        &self.intervals[self.first_intervals[s] as usize..self.first_intervals[s + 1] as usize]
    }

    /// True if the label can come next.
    pub fn contains(&self, state: StateId, label: i32) -> bool {
        let intervals = self.intervals(state);
        let i = intervals.partition_point(|&[begin, _]| begin <= label);
        i > 0 && label < intervals[i - 1][1]
    }

    /// True if a path can end without a label.
    pub fn reaches_end(&self, state: StateId) -> bool {
        self.contains(state, self.final_label)
    }
}

impl LookAheadFst {
    /// The arcs of a state without an output label, and those with one.
    pub fn arcs_by_output(&self, state: StateId) -> [Range<usize>; 2] {
        let arcs = self.fst.arcs_of(state as usize);
        let without = self.fst.arcs[arcs.clone()].partition_point(|arc| arc.olabel == EPSILON);
        let middle = arcs.start + without;
        [arcs.start..middle, middle..arcs.end]
    }
}
