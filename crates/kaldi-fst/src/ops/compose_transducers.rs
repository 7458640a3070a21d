//! Composition of transducers. The filter puts all empty moves of the first transducer before the empty moves of the
//! second.
//!
//! States and arcs have the same order as with OpenFst's `Compose` and Kaldi's `TableCompose`.

use super::product::{Filter, First, Pair, Step};
use crate::fst::{Arc, EPSILON, Fst, State, StateId};
use crate::ops::connect::connect as keep_connected;
use crate::state_table::unfold;
use crate::weight::Algebra;

/// Returns the FST of all pairs of an input of `first` and an output of `second` that share a string: an output of
/// `first` equals an input of `second`. Costs are added. With `connect`, states without a complete path are removed.
///
/// One of the two must be sorted: `first` on output labels, or `second` on input labels. `None` if neither is.
pub fn compose_transducers<W: Algebra + Copy>(
    first: &Fst<W>,
    second: &Fst<W>,
    connect: bool,
) -> Option<Fst<W>> {
    let sorted = (is_sorted(first, |arc| arc.olabel), is_sorted(second, |arc| arc.ilabel));
    if sorted == (false, false) {
        return None;
    }
    let (Some(a), Some(b)) = (first.start, second.start) else { return Some(Fst::default()) };
    let mut out = unfold(Pair { first: a, second: b, moved: false }, |pair, out| {
        let (x, y) = (first.state(pair.first), second.state(pair.second));
        let own = First { arcs: &x.arcs, is_final: x.is_final() };
        let step = Step { filter: &FirstComesFirst, pair, first: own, second: y };
        // The side with fewer arcs is gone through, if the other can be searched.
        if sorted.1 && (!sorted.0 || x.arcs.len() <= y.arcs.len()) {
            step.search_second(out);
        } else {
            step.search_first(out);
        }
        x.final_weight.times(&y.final_weight)
    });
    if connect {
        keep_connected(&mut out);
    }
    Some(out)
}

fn is_sorted<W>(fst: &Fst<W>, label: fn(&Arc<W>) -> i32) -> bool {
    fst.states.iter().all(|state| state.arcs.is_sorted_by_key(label))
}

/// After an empty move of the second FST it is too late for empty moves of the first one.
struct FirstComesFirst;

impl<W: Algebra> Filter<W> for FirstComesFirst {
    fn first_moves(&self, moved: bool, _: StateId, _: &State<W>) -> Option<bool> {
        (!moved).then_some(false)
    }

    /// If the first FST can do nothing else than make empty moves then it should, and if it cannot make any then nothing
    /// needs to be remembered.
    fn second_moves(&self, _: bool, first: First<W>) -> Option<bool> {
        let empty = first.arcs.iter().filter(|arc| arc.olabel == EPSILON).count();
        (empty < first.arcs.len() || first.is_final).then_some(empty > 0)
    }
}
