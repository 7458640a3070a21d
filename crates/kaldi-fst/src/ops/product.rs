//! Composition of two transducers, state by state. A [`Filter`] decides which empty moves count, so that each pair of paths
//! gives one path of the result. (Mohri, Pereira and Riley, "Weighted automata in text and speech processing", 1996.)

use crate::fst::{Arc, EPSILON, State, StateId};
use crate::state_table::Expanded;
use crate::weight::Algebra;

/// A state of a composition: states of both, and what the filter remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Pair {
    pub first: StateId,
    pub second: StateId,
    /// After an empty move of one of the two, as the filter says. False at the start, and after both have moved.
    pub moved: bool,
}

/// A state of the first transducer.
#[derive(Clone, Copy)]
pub(super) struct First<'a, W> {
    pub arcs: &'a [Arc<W>],
    pub is_final: bool,
}

/// An order of empty moves. Both functions return what the filter remembers after the move, or `None` if it is not allowed.
pub(super) trait Filter<W> {
    /// The first transducer moves to `next` without output, while the second one waits.
    fn first_moves(&self, moved: bool, next: StateId, second: &State<W>) -> Option<bool>;

    /// The second transducer moves without input, while the first one waits.
    fn second_moves(&self, moved: bool, first: First<W>) -> Option<bool>;
}

/// The arcs with a label among arcs that are sorted by it.
fn with_label<W>(arcs: &[Arc<W>], label: i32, of: fn(&Arc<W>) -> i32) -> &[Arc<W>] {
    /// Up to so many arcs are looked through one by one.
    const FEW: usize = 8;
    let first = if arcs.len() <= FEW || label == EPSILON {
        arcs.iter().position(|arc| of(arc) >= label).unwrap_or(arcs.len())
    } else {
        arcs.partition_point(|arc| of(arc) < label)
    };
    let count = arcs[first..].iter().take_while(|arc| of(arc) == label).count();
    &arcs[first..first + count]
}

/// One step of a composition: the state, and both its parts.
pub(super) struct Step<'a, W, F> {
    pub filter: &'a F,
    pub pair: Pair,
    pub first: First<'a, W>,
    pub second: &'a State<W>,
}

impl<W: Algebra + Copy, F: Filter<W>> Step<'_, W, F> {
    fn both_move(&self, x: &Arc<W>, y: &Arc<W>, out: &mut Expanded<Pair, W>) {
        let next = Pair { first: x.next, second: y.next, moved: false };
        out.add((x.ilabel, y.olabel), x.weight.times(&y.weight), next);
    }

    fn first_moves(&self, x: &Arc<W>, out: &mut Expanded<Pair, W>) {
        if let Some(moved) = self.filter.first_moves(self.pair.moved, x.next, self.second) {
            out.add((x.ilabel, EPSILON), x.weight, Pair { first: x.next, moved, ..self.pair });
        }
    }

    fn second_moves(&self, empty: &[Arc<W>], out: &mut Expanded<Pair, W>) {
        if empty.is_empty() {
            return;
        }
        let Some(moved) = self.filter.second_moves(self.pair.moved, self.first) else { return };
        for y in empty {
            out.add((EPSILON, y.olabel), y.weight, Pair { second: y.next, moved, ..self.pair });
        }
    }

    /// Goes through the arcs of the first transducer. Those of the second one are sorted by input.
    pub fn search_second(&self, out: &mut Expanded<Pair, W>) {
        let input = |arc: &Arc<W>| arc.ilabel;
        self.second_moves(with_label(&self.second.arcs, EPSILON, input), out);
        for x in self.first.arcs {
            if x.olabel == EPSILON {
                self.first_moves(x, out);
                continue;
            }
            for y in with_label(&self.second.arcs, x.olabel, input) {
                self.both_move(x, y, out);
            }
        }
    }

    /// Goes through the arcs of the second transducer. Those of the first one are sorted by output.
    pub fn search_first(&self, out: &mut Expanded<Pair, W>) {
        let output = |arc: &Arc<W>| arc.olabel;
        for x in with_label(self.first.arcs, EPSILON, output) {
            self.first_moves(x, out);
        }
        for y in &self.second.arcs {
            if y.ilabel == EPSILON {
                self.second_moves(std::slice::from_ref(y), out);
                continue;
            }
            for x in with_label(self.first.arcs, y.ilabel, output) {
                self.both_move(x, y, out);
            }
        }
    }
}
