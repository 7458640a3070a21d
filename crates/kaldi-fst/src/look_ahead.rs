//! Transducers with the set of reachable output labels for each state (type `olabel_lookahead` of OpenFst: Allauzen,
//! Riley and Schalkwyk, "A generalized composition algorithm for weighted finite-state transducers", 2009).
//!
//! Labels are numbered so that the set of each state consists of few intervals. An FST that is composed with such a
//! transducer has the same numbers as its input labels.

use std::ops::Range;

use crate::flat::FlatFst;
use crate::fst::{EPSILON, StateId};
use crate::mapped::MappedFst;
pub use crate::reach::{Intervals, Reach, ReachBuilder, ReachId};

/// A transducer, the arcs of each state in the order of their output labels.
#[derive(Debug, Clone, PartialEq)]
pub struct LookAheadFst {
    pub fst: FlatFst,
    pub reach: Reach,
}

/// A transducer of a file: in memory, or, if its type is `const`, in the file. Faults of its states are then found when
/// they are visited.
#[derive(Debug)]
pub enum LookAheadFile {
    /// The arcs of each state may be in any order.
    File(MappedFst, Reach),
    Memory(LookAheadFst),
}

impl From<LookAheadFst> for LookAheadFile {
    fn from(fst: LookAheadFst) -> LookAheadFile {
        LookAheadFile::Memory(fst)
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
