//! Composition of transducers. The filter puts all empty moves of the first transducer before the empty moves of the
//! second. (Mohri, Pereira and Riley, "Weighted automata in text and speech processing", 1996.)
//!
//! States and arcs have the same order as with OpenFst's `Compose` and Kaldi's `TableCompose`.

use rustc_hash::FxHashMap;

use crate::fst::{Arc, EPSILON, Fst, State, StateId};
use crate::ops::connect::connect as keep_connected;
use crate::weight::Weight;

/// Returns the FST of all pairs of an input of `first` and an output of `second` that share a string: an output of
/// `first` equals an input of `second`. Costs are added. With `connect`, states without a complete path are removed.
///
/// One of the two must be sorted: `first` on output labels, or `second` on input labels. `None` if neither is.
pub fn compose_transducers<W: Weight + Copy>(
    first: &Fst<W>,
    second: &Fst<W>,
    connect: bool,
) -> Option<Fst<W>> {
    let sorted = (is_sorted(first, |arc| arc.olabel), is_sorted(second, |arc| arc.ilabel));
    if sorted == (false, false) {
        return None;
    }
    let (Some(a), Some(b)) = (first.start, second.start) else { return Some(Fst::default()) };
    let mut product = Product { ids: FxHashMap::default(), pairs: Vec::new(), arcs: Vec::new() };
    product.find(Pair { first: a, second: b, second_moved: false });
    let mut out = Fst { start: Some(0), ..Fst::default() };
    while let Some(&pair) = product.pairs.get(out.states.len()) {
        let (x, y) = (first.state(pair.first), second.state(pair.second));
        // The side with fewer arcs is gone through, if the other can be searched.
        if sorted.1 && (!sorted.0 || x.arcs.len() <= y.arcs.len()) {
            product.search_second(pair, x, y);
        } else {
            product.search_first(pair, x, y);
        }
        let arcs = product.arcs.as_slice().into();
        product.arcs.clear();
        out.states.push(State { final_weight: x.final_weight.times(&y.final_weight), arcs });
    }
    if connect {
        keep_connected(&mut out);
    }
    Some(out)
}

fn is_sorted<W>(fst: &Fst<W>, label: fn(&Arc<W>) -> i32) -> bool {
    fst.states.iter().all(|state| state.arcs.is_sorted_by_key(label))
}

/// A state of the result.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    first: StateId,
    second: StateId,
    /// The second FST has made an empty move: now it is too late for empty moves of the first one.
    second_moved: bool,
}

struct Product<W> {
    ids: FxHashMap<Pair, StateId>,
    pairs: Vec<Pair>,
    /// The arcs of the state that is being made.
    arcs: Vec<Arc<W>>,
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

impl<W: Weight + Copy> Product<W> {
    fn find(&mut self, pair: Pair) -> StateId {
        *self.ids.entry(pair).or_insert_with(|| {
            self.pairs.push(pair);
            (self.pairs.len() - 1) as StateId
        })
    }

    fn both_move(&mut self, x: &Arc<W>, y: &Arc<W>) {
        let next = self.find(Pair { first: x.next, second: y.next, second_moved: false });
        self.arcs.push(Arc { ilabel: x.ilabel, olabel: y.olabel, weight: x.weight.times(&y.weight), next });
    }

    /// An arc of the first FST without output; the second one waits.
    fn first_moves(&mut self, pair: Pair, x: &Arc<W>) {
        if !pair.second_moved {
            let next = self.find(Pair { first: x.next, ..pair });
            self.arcs.push(Arc { olabel: EPSILON, next, ..*x });
        }
    }

    /// The arcs of the second FST without input; the first one waits. If it can do nothing else than make empty moves
    /// then it should, and if it cannot make any then nothing needs to be remembered.
    fn second_moves(&mut self, pair: Pair, x: &State<W>, empty: &[Arc<W>]) {
        let empty_of_first = x.arcs.iter().filter(|arc| arc.olabel == EPSILON).count();
        if empty_of_first == x.arcs.len() && !x.is_final() {
            return;
        }
        for y in empty {
            let next = self.find(Pair { second: y.next, second_moved: empty_of_first > 0, ..pair });
            self.arcs.push(Arc { ilabel: EPSILON, next, ..*y });
        }
    }

    fn search_second(&mut self, pair: Pair, x: &State<W>, y: &State<W>) {
        let input = |arc: &Arc<W>| arc.ilabel;
        self.second_moves(pair, x, with_label(&y.arcs, EPSILON, input));
        for arc in &x.arcs {
            if arc.olabel == EPSILON {
                self.first_moves(pair, arc);
                continue;
            }
            for other in with_label(&y.arcs, arc.olabel, input) {
                self.both_move(arc, other);
            }
        }
    }

    fn search_first(&mut self, pair: Pair, x: &State<W>, y: &State<W>) {
        let output = |arc: &Arc<W>| arc.olabel;
        for arc in with_label(&x.arcs, EPSILON, output) {
            self.first_moves(pair, arc);
        }
        for arc in &y.arcs {
            if arc.ilabel == EPSILON {
                self.second_moves(pair, x, std::slice::from_ref(arc));
                continue;
            }
            for other in with_label(&x.arcs, arc.ilabel, output) {
                self.both_move(other, arc);
            }
        }
    }
}
