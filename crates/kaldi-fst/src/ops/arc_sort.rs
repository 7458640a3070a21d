//! The order of arcs.

use crate::fst::Fst;
use crate::ops::labels::Side;
use crate::weight::Weight;

/// Sorts the arcs of each state on one of their labels, those with equal ones on the other. Otherwise equal arcs keep
/// their order.
pub fn sort_arcs<W: Weight>(fst: &mut Fst<W>, on: Side) {
    for state in &mut fst.states {
        match on {
            Side::Input => state.arcs.sort_by_key(|arc| (arc.ilabel, arc.olabel)),
            Side::Output => state.arcs.sort_by_key(|arc| (arc.olabel, arc.ilabel)),
        }
    }
}
