//! Determinization of acceptors (Mohri, "Finite-State Transducers in Language and Speech Processing", 1997): a
//! state of the result is a set of (input state, residual weight) pairs.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::error::{Error, Result};
use crate::fst::{Arc, EPSILON, Fst, State, StateId};
use crate::state_table::{FirstInFirstOut, Order};
use crate::weight::Divisible;

/// Residuals are rounded to multiples of this, as by OpenFst, so that sets that differ by rounding only are one.
const DELTA: f32 = 1.0 / 1024.0;

/// Sets of states that are one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Same {
    /// Residuals are rounded to multiples of this number, and have to be equal then, as in OpenFst.
    Rounded(f32),
    /// Residuals differ by at most this number, as in Kaldi's `DeterminizeStar`. The set that was found last counts.
    Near(f32),
}

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

/// States with their residual weights, in the order of the states.
type Subset<W> = Vec<(StateId, W)>;

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
    let mut subsets = Subsets::<W, O>::new(rules.same);
    subsets.find(vec![(start, W::one())]);
    let mut out = Fst { start: Some(0), states: Vec::new() };
    let mut expanded = 0;
    while let Some(id) = subsets.waiting.take(subsets.all.len()) {
        let subset = &subsets.all[id as usize];
        let (final_weight, by_labels) = match rules.empty {
            Empty::Counts => arcs_of(fst, subset, rules.empty),
            Empty::Passed => arcs_of(fst, &closure(fst, subset), rules.empty),
        };
        let mut arcs = Vec::with_capacity(by_labels.len());
        for ((ilabel, olabel), mut next) in by_labels {
            let weight = normalize(&mut next, rules.same);
            arcs.push(Arc { ilabel, olabel, weight, next: subsets.find(next) });
        }
        out.states.resize_with(subsets.all.len(), State::default);
        out.states[id as usize] = State { final_weight, arcs };
        expanded += 1;
        if subsets.all.len() > rules.most_states && expanded < subsets.all.len() {
            return Determinized { fst: out, complete: false };
        }
    }
    Determinized { fst: out, complete: true }
}

/// The weight of ending in a set, and for each pair of labels the states that it leads to, some of them maybe several times.
fn arcs_of<W: Divisible>(
    fst: &Fst<W>,
    subset: &Subset<W>,
    empty: Empty,
) -> (W, BTreeMap<(i32, i32), Subset<W>>) {
    let mut by_labels: BTreeMap<(i32, i32), Subset<W>> = BTreeMap::new();
    let mut final_weight = W::zero();
    for (state, residual) in subset {
        let data = fst.state(*state);
        if data.is_final() {
            final_weight = final_weight.plus(&residual.times(&data.final_weight));
        }
        for arc in data.arcs.iter().filter(|arc| !arc.weight.is_zero()) {
            if empty == Empty::Counts || !arc.is_epsilon() {
                let reached = (arc.next, residual.times(&arc.weight));
                by_labels.entry((arc.ilabel, arc.olabel)).or_default().push(reached);
            }
        }
    }
    (final_weight, by_labels)
}

/// Sorts the set, keeps the best of equal states, and takes out the weight that all have in common.
fn normalize<W: Divisible>(subset: &mut Subset<W>, same: Same) -> W {
    subset.sort_by_key(|(state, _)| *state);
    subset.dedup_by(|(later, other), (state, residual)| {
        let same = later == state;
        if same {
            *residual = residual.plus(other);
        }
        same
    });
    let common = subset.iter().fold(W::zero(), |sum, (_, residual)| sum.plus(residual));
    for (_, residual) in subset {
        *residual = residual.divide(&common);
        if let Same::Rounded(delta) = same {
            *residual = residual.quantized(delta);
        }
    }
    common
}

/// Adds the states that arcs without labels lead to, each with the weights of all ways to it.
fn closure<W: Divisible>(fst: &Fst<W>, subset: &Subset<W>) -> Subset<W> {
    let mut found: BTreeMap<StateId, W> = subset.iter().cloned().collect();
    let mut closed = Vec::with_capacity(found.len());
    while let Some((state, residual)) = found.pop_first() {
        for arc in fst.state(state).arcs.iter().filter(|arc| arc.is_epsilon()) {
            let weight = residual.times(&arc.weight);
            let known = found.entry(arc.next).or_insert_with(W::zero);
            *known = known.plus(&weight);
        }
        closed.push((state, residual));
    }
    closed
}

/// The sets that were found, which are the states of the result, and those that wait for arcs.
struct Subsets<W, O> {
    same: Same,
    all: Vec<Subset<W>>,
    /// For each hash, the set that was found last.
    last_found: FxHashMap<u64, StateId>,
    /// For each set, the one with the same hash that was found before it.
    found_before: Vec<Option<StateId>>,
    waiting: O,
}

impl<W: Divisible, O: Order> Subsets<W, O> {
    fn new(same: Same) -> Self {
        Subsets {
            same,
            all: Vec::new(),
            last_found: FxHashMap::default(),
            found_before: Vec::new(),
            waiting: O::default(),
        }
    }

    /// The number of a set, which is new or known.
    fn find(&mut self, subset: Subset<W>) -> StateId {
        let hash = self.hash(&subset);
        let mut candidate = self.last_found.get(&hash).copied();
        while let Some(known) = candidate {
            if self.is_same(&self.all[known as usize], &subset) {
                return known;
            }
            candidate = self.found_before[known as usize];
        }
        let id = self.all.len() as StateId;
        self.found_before.push(self.last_found.insert(hash, id));
        self.all.push(subset);
        self.waiting.add(id);
        id
    }

    /// Residuals that may be near each other have no part in it.
    fn hash(&self, subset: &Subset<W>) -> u64 {
        let mut hasher = FxHasher::default();
        for (state, residual) in subset {
            state.hash(&mut hasher);
            if let Same::Rounded(_) = self.same {
                residual.bits().hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    fn is_same(&self, a: &Subset<W>, b: &Subset<W>) -> bool {
        let is_same = |a: &W, b: &W| match self.same {
            Same::Rounded(_) => a.bits() == b.bits(),
            Same::Near(delta) => a.is_near(b, delta),
        };
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && is_same(&a.1, &b.1))
    }
}
