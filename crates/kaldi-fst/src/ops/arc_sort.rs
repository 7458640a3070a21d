//! The order of arcs.

use crate::fst::Fst;

/// Which label comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortOn {
    Input,
    Output,
}

/// Sorts the arcs of each state on one of their labels, those with equal ones on the other. Otherwise equal arcs keep
/// their order.
pub fn sort_arcs(fst: &mut Fst, on: SortOn) {
    for state in &mut fst.states {
        match on {
            SortOn::Input => state.arcs.sort_by_key(|arc| (arc.ilabel, arc.olabel)),
            SortOn::Output => state.arcs.sort_by_key(|arc| (arc.olabel, arc.ilabel)),
        }
    }
}
