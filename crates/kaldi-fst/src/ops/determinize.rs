//! Determinization of acceptors (Mohri, "Finite-State Transducers in Language and Speech Processing", 1997): a
//! state of the result is a set of (input state, residual weight) pairs.
//!
//! Sets and their algebra are those of [`crate::subsets`]. The loop is not that of
//! [`determinize_star`](fn@super::determinize_star): its order is a parameter, it stops with a part of the result, arcs of pairs
//! of labels need no strings, and the way through arcs without labels is that of an FST whose states are sorted.

use std::collections::BTreeMap;
use std::convert::Infallible;

use crate::error::{Error, Result};
use crate::fst::{Arc, EPSILON, Fst, State, StateId};
use crate::state_table::{FirstInFirstOut, Order};
use crate::strings::Strings;
use crate::subsets::{Element, Same, Subsets, by_label, merge, take_common};
use crate::weight::Divisible;

/// Residuals are rounded to multiples of this, as by OpenFst, so that sets that differ by rounding only are one.
const DELTA: f32 = 1.0 / 1024.0;

/// Arcs without labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Empty {
    /// They count like arcs with one more label.
    Counts,
    /// They are passed without consuming a label. They must lead to larger numbers of states.
    Passed,
}

/// Options of determinization.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SubsetRules {
    pub same: Same,
    pub empty: Empty,
    /// If there are more states, those that wait are left without arcs.
    pub most_states: usize,
}

/// The result of a determinization.
#[derive(Debug, Clone, PartialEq)]
pub struct Determinized<W> {
    pub fst: Fst<W>,
    /// False if states were left without arcs, since there were too many.
    pub complete: bool,
}

/// The acceptor with at most one arc of each label from each state, in the order of labels. Every state can be reached.
/// An error for arcs without labels, and as soon as there would be more than `limit` states.
pub fn determinize<W: Divisible>(fst: &Fst<W>, limit: usize) -> Result<Fst<W>> {
    if let Some((state, _)) = fst
        .numbered()
        .find(|(_, state)| state.arcs.iter().any(|arc| arc.ilabel == EPSILON && !arc.weight.is_zero()))
    {
        return Err(Error::Epsilon { state });
    }
    determinize_rounded(fst, DELTA, limit)
}

/// Determinizes like [`determinize`], but treats arcs without label like arcs with one more label, as OpenFst does.
pub fn determinize_with_epsilons<W: Divisible>(fst: &Fst<W>, limit: usize) -> Result<Fst<W>> {
    determinize_rounded(fst, DELTA, limit)
}

/// Does the same as [`determinize_with_epsilons`]. Sets of states are equal if their residuals are, as multiples of `delta`.
///
/// # Errors
/// The FST is no acceptor, or the result has more than `limit` states.
pub fn determinize_rounded<W: Divisible>(fst: &Fst<W>, delta: f32, limit: usize) -> Result<Fst<W>> {
    fst.check_acceptor()?;
    let rules = SubsetRules { same: Same::Rounded(delta), empty: Empty::Counts, most_states: limit };
    let Determinized { fst, complete } = determinize_pairs::<W, FirstInFirstOut>(fst, rules);
    if complete { Ok(fst) } else { Err(Error::TooManyStates { limit }) }
}

/// Determinizes an FST as an acceptor of pairs of labels: there is at most one arc of each pair from a state, in the order of pairs. States have numbers
/// in the order in which they are found; the order in which their arcs are found is `O`.
pub fn determinize_pairs<W: Divisible, O: Order>(fst: &Fst<W>, rules: SubsetRules) -> Determinized<W> {
    let Some(start) = fst.start else { return Determinized { fst: Fst::default(), complete: true } };
    let mut search = Search::<W, O>::new(rules.same);
    search.set.push(Element { state: start, string: Strings::EMPTY, weight: W::one() });
    search.find();
    let mut out = Fst { start: Some(0), states: Vec::new() };
    let mut reached = Vec::new();
    let mut expanded = 0;
    while let Some(id) = search.waiting.take(search.subsets.len()) {
        let subset = search.subsets.get(id);
        let final_weight = match rules.empty {
            Empty::Counts => leave(fst, subset, rules.empty, &mut reached),
            Empty::Passed => leave(fst, &closure(fst, subset), rules.empty, &mut reached),
        };
        let mut arcs = Vec::new();
        for ((ilabel, olabel), same_labels) in by_label(&mut reached) {
            let (weight, next) = search.arc(same_labels);
            arcs.push(Arc { ilabel, olabel, weight, next });
        }
        arcs.shrink_to_fit();
        let found = search.subsets.len();
        out.states.resize_with(found, State::default);
        out.states[id as usize] = State { final_weight, arcs };
        expanded += 1;
        if found > rules.most_states && expanded < found {
            return Determinized { fst: out, complete: false };
        }
    }
    Determinized { fst: out, complete: true }
}

/// An element that a pair of labels leads to.
type Reached<W> = ((i32, i32), Element<W>);

/// Returns the weight of ending in a set, and puts into `reached` the states that its arcs lead to, some of them maybe several
/// times.
fn leave<W: Divisible>(
    fst: &Fst<W>,
    subset: &[Element<W>],
    empty: Empty,
    reached: &mut Vec<Reached<W>>,
) -> W {
    reached.clear();
    let mut final_weight = W::zero();
    for element in subset {
        let data = fst.state(element.state);
        if data.is_final() {
            final_weight = final_weight.plus(&element.weight.times(&data.final_weight));
        }
        for arc in data.arcs.iter().filter(|arc| !arc.weight.is_zero()) {
            if empty == Empty::Counts || !arc.is_epsilon() {
                let weight = element.weight.times(&arc.weight);
                let next = Element { state: arc.next, string: Strings::EMPTY, weight };
                reached.push(((arc.ilabel, arc.olabel), next));
            }
        }
    }
    final_weight
}

/// Adds the states that arcs without labels lead to, each with the weights of all ways to it.
fn closure<W: Divisible>(fst: &Fst<W>, subset: &[Element<W>]) -> Vec<Element<W>> {
    let mut found: BTreeMap<StateId, W> = subset.iter().map(|e| (e.state, e.weight.clone())).collect();
    let mut closed = Vec::with_capacity(found.len());
    while let Some((state, residual)) = found.pop_first() {
        for arc in fst.state(state).arcs.iter().filter(|arc| arc.is_epsilon()) {
            let weight = residual.times(&arc.weight);
            let known = found.entry(arc.next).or_insert_with(W::zero);
            *known = known.plus(&weight);
        }
        closed.push(Element { state, string: Strings::EMPTY, weight: residual });
    }
    closed
}

/// The sets that were found, which are the states of the result, and those that wait for arcs.
struct Search<W, O> {
    same: Same,
    subsets: Subsets<W, Same>,
    /// The set that is looked for.
    set: Vec<Element<W>>,
    /// (All strings of acceptors are empty.)
    strings: Strings,
    waiting: O,
}

impl<W: Divisible, O: Order> Search<W, O> {
    fn new(same: Same) -> Self {
        Search {
            same,
            subsets: Subsets::new(same),
            set: Vec::new(),
            strings: Strings::default(),
            waiting: O::default(),
        }
    }

    /// The number of the set that is looked for, which is new or known.
    fn find(&mut self) -> StateId {
        self.subsets.find(&self.set).unwrap_or_else(|vacant| {
            let id = self.subsets.add(&self.set, vacant);
            self.waiting.add(id);
            id
        })
    }

    /// The arc to the states that its labels lead to: its weight, and the number of their set.
    fn arc(&mut self, reached: &[Reached<W>]) -> (W, StateId) {
        let Ok(()) = merge(reached, &mut self.set, |known, other| {
            known.weight = known.weight.plus(&other.weight);
            Ok::<(), Infallible>(())
        });
        let (_, weight) = take_common(&mut self.set, &mut self.strings, W::plus);
        if let Same::Rounded(delta) = self.same {
            self.set.iter_mut().for_each(|element| element.weight = element.weight.quantized(delta));
        }
        (weight, self.find())
    }
}
