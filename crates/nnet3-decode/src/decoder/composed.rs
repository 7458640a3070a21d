//! A graph composed of two FSTs during the search. HCL leads from transition-ids to words, and has the set of possible
//! next words of each state. G is the language model (Allauzen, Riley and Schalkwyk, "A generalized composition
//! algorithm for weighted finite-state transducers", 2009; Kaldi calls it `LookaheadComposeFst`).
//!
//! Four rules determine the pairs of states:
//!
//! - G goes to a shorter history before HCL takes an arc without a word, never after. So each pair of paths is one
//!   path.
//! - HCL takes an arc without a word only to states from which it can reach a word that G has here, or both can end.
//! - The estimated cost of that word (from the summed probabilities of those words) is added immediately, and
//!   subtracted later, rounded. If both can end here and that costs less than all words together, the cost of the end
//!   takes its place.
//! - If only one word is possible, its label and its cost are written immediately. The state then has that word
//!   *pending*, until HCL reaches it.
//!
//! Costs of whole paths are those of the plain composition, but for the rounding. It has the size that it has in Kaldi, so
//! that lattices have the same costs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc as Shared, Mutex, PoisonError};

use kaldi_fst::{Arc, EPSILON, LookAheadFst, StateId};
use rustc_hash::FxHashMap;

use super::grammar::Grammar;
use super::graph::Graph;
use super::log_sums::{GrammarArcs, plus};
use super::shared_states::{ArcTo, SharedStates, hash};
use crate::error::{Error, Result};

/// No label is pending.
const NOTHING: i32 = -1;
/// The early cost of a state is a multiple of this, so that few states differ in it.
const STEP: f32 = 1.0 / 1024.0;
/// Approximate memory limit of expanded states and arcs for each search; above it they are dropped.
const MOST_BYTES: usize = 64 << 20;
/// The limit for all searches that share them.
const MOST_SHARED_BYTES: usize = 4 * MOST_BYTES;

/// HCL and G, and the part of their composition that searches have expanded. Clones share HCL and that part.
#[derive(Debug, Clone)]
pub struct GraphPair {
    hcl: Shared<LookAheadFst>,
    grammar: Grammar,
    shared: Shared<SharedPart>,
}

/// The part that searches share.
#[derive(Debug)]
struct SharedPart {
    latest: Mutex<Shared<Expanded>>,
    /// The most searches that there were at a time.
    searches: AtomicUsize,
}

impl GraphPair {
    /// Makes a pair. `disambiguation` are input labels of HCL that consume no frame. Other labels above
    /// `num_transition_ids` are an error.
    pub fn new(
        mut hcl: LookAheadFst,
        grammar: Grammar,
        disambiguation: &[i32],
        num_transition_ids: usize,
    ) -> Result<GraphPair> {
        let largest = disambiguation.iter().copied().max().unwrap_or(0).max(0) as usize;
        let mut consumes = vec![true; largest + 1];
        for &label in disambiguation {
            if let Some(consumes) = usize::try_from(label).ok().and_then(|label| consumes.get_mut(label)) {
                *consumes = false;
            }
        }
        for (i, arc) in hcl.fst.arcs.iter_mut().enumerate() {
            if consumes.get(arc.ilabel as usize) == Some(&false) {
                arc.ilabel = EPSILON;
            } else if arc.ilabel as usize > num_transition_ids {
                let state = hcl.fst.first_arcs.partition_point(|&first| first as usize <= i) as StateId - 1;
                return Err(Error::GraphLabel { state, label: arc.ilabel, last: num_transition_ids });
            }
        }
        Ok(GraphPair::of(Shared::new(hcl), grammar))
    }

    fn of(hcl: Shared<LookAheadFst>, grammar: Grammar) -> GraphPair {
        let latest = Mutex::new(Shared::new(Expanded::new()));
        GraphPair { hcl, grammar, shared: Shared::new(SharedPart { latest, searches: AtomicUsize::new(1) }) }
    }

    /// Returns the pair of the same HCL and another G, whose input labels must be those of HCL.
    pub fn with_grammar(&self, grammar: Grammar) -> GraphPair {
        GraphPair::of(self.hcl.clone(), grammar)
    }

    fn latest(&self) -> Shared<Expanded> {
        self.shared.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the expanded part for a new search.
    fn expanded(&self) -> Shared<Expanded> {
        let latest = self.shared.latest.lock().unwrap_or_else(PoisonError::into_inner);
        // (One owner is the pair.)
        self.shared.searches.fetch_max(Shared::strong_count(&latest), Ordering::Relaxed);
        latest.clone()
    }

    /// Returns the part that has replaced a full one. The full one is dropped with the last search that uses it.
    fn replaced(&self, full: &Shared<Expanded>) -> Shared<Expanded> {
        let mut latest = self.shared.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if Shared::ptr_eq(&latest, full) {
            *latest = Shared::new(Expanded::new());
        }
        latest.clone()
    }

    /// Returns the input labels of G for these words, as far as HCL has paths with these labels. A word that G lacks has its
    /// own number as label if G is an acceptor; else it is left out.
    pub fn input_labels(&self, words: &BTreeSet<i32>) -> BTreeMap<i32, i32> {
        let Some(start) = self.hcl.fst.start else { return BTreeMap::new() };
        let mut labels = self.grammar.input_labels(words);
        let reach = &self.hcl.reach;
        labels.retain(|_, &mut label| {
            label > EPSILON && label != reach.final_label && reach.contains(start, label)
        });
        labels
    }

    /// Returns the first word of the grammar for which `is_known` is false.
    pub fn unknown_word(&self, is_known: impl Fn(i32) -> bool) -> Option<i32> {
        self.grammar.unknown_word(is_known)
    }
}

/// A state of the composition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    hcl: StateId,
    grammar: StateId,
    /// The word that HCL must reach next; [`NOTHING`] if it is free to choose.
    pending: i32,
    /// The bits of the cost added early, a multiple of [`STEP`].
    paid: u32,
    /// True if HCL took an arc without a word, so that G may not go to a shorter history.
    bound: bool,
}

/// The composition for one search. `P` points to the pair: a reference, or an owner such as
/// [`Arc`](std::sync::Arc). Searches share the expanded part.
#[derive(Debug)]
pub struct ComposedGraph<P> {
    pair: P,
    expanded: Shared<Expanded>,
    work: Work,
}

/// The expanded part of the composition.
#[derive(Debug)]
struct Expanded {
    states: SharedStates<Pair>,
    /// Cumulative costs of the arcs of states of G with many arcs.
    sums: Mutex<FxHashMap<StateId, Shared<[f64]>>>,
}

/// The arcs of a state that is being expanded. Kept for their memory.
#[derive(Debug, Default)]
struct Work {
    epsilons: Vec<ArcTo<Pair>>,
    emitting: Vec<ArcTo<Pair>>,
}

/// The result of the lookahead.
enum Ahead {
    Nothing,
    /// One word, which is this arc of G, and no end.
    One(usize),
    /// The cost of all that is possible.
    Cost(f32),
}

/// A cost of 0.
const FREE: u32 = 0f32.to_bits();

/// The bits of a cost that is rounded to a multiple of [`STEP`].
fn rounded(cost: f32) -> u32 {
    ((cost / STEP + 0.5).floor() * STEP).to_bits()
}

impl Pair {
    fn paid(&self) -> f32 {
        f32::from_bits(self.paid)
    }
}

impl<P: Deref<Target = GraphPair>> ComposedGraph<P> {
    pub fn new(pair: P) -> ComposedGraph<P> {
        ComposedGraph { expanded: pair.expanded(), pair, work: Work::default() }
    }
}

impl Expanded {
    fn new() -> Expanded {
        Expanded { states: SharedStates::new(), sums: Mutex::default() }
    }

    /// The cumulative costs of a state of G.
    fn sums(&self, arcs: &GrammarArcs<'_>) -> Shared<[f64]> {
        let known = || self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sums) = known().get(&arcs.state) {
            return sums.clone();
        }
        let sums = arcs.cumulative().into();
        known().entry(arcs.state).or_insert(sums).clone()
    }
}

impl Work {
    fn add(&mut self, ilabel: i32, olabel: i32, weight: f32, to: Pair) {
        let arc = ArcTo { ilabel, olabel, weight, to };
        (if ilabel == EPSILON { &mut self.epsilons } else { &mut self.emitting }).push(arc);
    }

    fn expand_pending(&mut self, GraphPair { hcl, .. }: &GraphPair, pair: Pair) {
        let [without, with] = hcl.arcs_by_output(pair.hcl);
        let only_one = without.len() + with.len() == 1;
        for arc in &hcl.fst.arcs[without] {
            if only_one || hcl.reach.contains(arc.next, pair.pending) {
                self.add(arc.ilabel, EPSILON, arc.weight, Pair { hcl: arc.next, ..pair });
            }
        }
        let arcs = &hcl.fst.arcs[with];
        let first = arcs.partition_point(|arc| arc.olabel < pair.pending);
        for arc in arcs[first..].iter().take_while(|arc| arc.olabel == pair.pending) {
            let to = Pair { hcl: arc.next, pending: NOTHING, bound: false, ..pair };
            self.add(arc.ilabel, EPSILON, arc.weight, to);
        }
    }

    fn expand(&mut self, graphs: &GraphPair, expanded: &Expanded, pair: Pair) {
        let GraphPair { hcl, grammar, .. } = graphs;
        let paid = pair.paid();
        let free = Pair { pending: NOTHING, paid: FREE, bound: false, ..pair };
        if !pair.bound {
            for arc in grammar.epsilons(pair.grammar) {
                self.add(EPSILON, arc.olabel, arc.weight - paid, Pair { grammar: arc.next, ..free });
            }
        }
        let [without, with] = hcl.arcs_by_output(pair.hcl);
        let (labels, costs) = grammar.labels_and_costs(pair.grammar);
        let bound = grammar.has_epsilons(pair.grammar);
        let dead_end = labels.is_empty() && grammar.final_cost(pair.grammar) == f32::INFINITY;
        let mut next_words = NextWords::new(graphs, expanded, pair.grammar);
        for arc in hcl.fst.arcs[without].iter().filter(|_| !dead_end) {
            let to = Pair { hcl: arc.next, bound, ..free };
            match next_words.after(arc.next) {
                Ahead::Nothing => {}
                Ahead::One(i) => {
                    let word = grammar.arc(pair.grammar, i);
                    let to = Pair { grammar: word.next, pending: word.ilabel, ..to };
                    self.add(arc.ilabel, word.olabel, arc.weight + (word.weight - paid), to);
                }
                Ahead::Cost(cost) => {
                    let weight = arc.weight + (cost - paid);
                    self.add(arc.ilabel, EPSILON, weight, Pair { paid: rounded(cost), ..to });
                }
            }
        }
        let mut matched = |arc: &Arc, i: usize| {
            let word = grammar.arc(pair.grammar, i);
            let to = Pair { hcl: arc.next, grammar: word.next, ..free };
            self.add(arc.ilabel, word.olabel, arc.weight + (costs[i] - paid), to);
        };
        let arcs = &hcl.fst.arcs[with];
        if arcs.len() <= labels.len() {
            for arc in arcs {
                let first = labels.partition_point(|&label| label < arc.olabel);
                (first..labels.len()).take_while(|&i| labels[i] == arc.olabel).for_each(|i| matched(arc, i));
            }
        } else {
            for (i, &label) in labels.iter().enumerate() {
                let first = arcs.partition_point(|arc| arc.olabel < label);
                arcs[first..].iter().take_while(|arc| arc.olabel == label).for_each(|arc| matched(arc, i));
            }
        }
    }
}

/// The words of a state of G, for lookahead.
struct NextWords<'g> {
    graphs: &'g GraphPair,
    expanded: &'g Expanded,
    labels: &'g [i32],
    arcs: GrammarArcs<'g>,
    /// See [`Expanded::sums`]; from the first sum on that needs them.
    sums: Option<Shared<[f64]>>,
}

impl<'g> NextWords<'g> {
    fn new(graphs: &'g GraphPair, expanded: &'g Expanded, state: StateId) -> NextWords<'g> {
        let grammar = &graphs.grammar;
        let (labels, costs) = grammar.labels_and_costs(state);
        let arcs = GrammarArcs { grammar, state, costs, epsilons: grammar.epsilons(state).count() };
        NextWords { graphs, expanded, labels, arcs, sums: None }
    }

    /// Returns the possible next words after HCL has gone to `hcl` while G has stayed.
    fn after(&mut self, hcl: StateId) -> Ahead {
        let NextWords { graphs, expanded, labels, arcs, sums } = self;
        let reach = &graphs.hcl.reach;
        let ending = match reach.reaches_end(hcl) {
            true => graphs.grammar.final_cost(arcs.state),
            false => f32::INFINITY,
        };
        let (mut count, mut first, mut cost) = (0, 0, f32::INFINITY);
        let intervals = reach.intervals(hcl);
        if 2 * (arcs.epsilons + labels.len()) < intervals.len() {
            for (i, &label) in labels.iter().enumerate() {
                if reach.contains(hcl, label) {
                    if count == 0 {
                        first = i;
                    }
                    count += 1;
                    cost = plus(cost, arcs.costs[i]);
                }
            }
        } else {
            let mut begin = 0;
            for &[low, high] in intervals {
                begin = position(labels, begin, low);
                let end = position(labels, begin, high);
                if begin < end {
                    if count == 0 {
                        first = begin;
                    }
                    count += end - begin;
                    cost = arcs.add(cost, begin..end, || sums.get_or_insert_with(|| expanded.sums(arcs)));
                }
                begin = end;
                if begin == labels.len() {
                    break;
                }
            }
        }
        match (count, ending == f32::INFINITY) {
            (0, true) => Ahead::Nothing,
            (1, true) => Ahead::One(first),
            _ if cost.min(ending) == f32::INFINITY => Ahead::Nothing,
            _ => Ahead::Cost(cost.min(ending)),
        }
    }
}

/// Returns the position of the first label from `begin` on that is at least `label`. Labels are in ascending order. If all
/// differ, the position is as far from both ends as the label is, at most: few comparisons for labels with few gaps.
fn position(labels: &[i32], begin: usize, label: i32) -> usize {
    let (Some(&first), Some(&last)) = (labels.get(begin), labels.last()) else { return begin };
    if label <= first {
        return begin;
    }
    if label > last {
        return labels.len();
    }
    // (`first` < `label` <= `last`.)
    let high = begin.saturating_add(label.abs_diff(first) as usize).min(labels.len() - 1);
    let low = (labels.len() - 1).saturating_sub(last.abs_diff(label) as usize).max(begin + 1);
    let is_low = low <= high && labels[low - 1] < label;
    let (low, high) =
        if is_low && labels[high] >= label { (low, high) } else { (begin + 1, labels.len() - 1) };
    low + labels[low..high].partition_point(|&there| there < label)
}

impl<P: Deref<Target = GraphPair>> Graph for ComposedGraph<P> {
    const GROWS: bool = true;

    fn start(&mut self) -> Option<StateId> {
        // (Memory of a full part that others have left is not held any longer.)
        self.expanded = self.pair.latest();
        let (hcl, grammar) = (self.pair.hcl.fst.start?, self.pair.grammar.start()?);
        let start = Pair { hcl, grammar, pending: NOTHING, paid: FREE, bound: false };
        self.expanded.states.number(start).ok()
    }

    fn num_states(&self) -> usize {
        self.expanded.states.len()
    }

    fn order(&self, state: StateId) -> u32 {
        // (The high bits are the better ones.)
        self.expanded.states.key(state).map_or(0, |pair| (hash(&pair) >> 32) as u32)
    }

    fn final_cost(&self, state: StateId) -> Result<f32> {
        let Some(pair) = self.expanded.states.key(state).filter(|pair| pair.pending == NOTHING) else {
            return Ok(f32::INFINITY);
        };
        let GraphPair { hcl, grammar, .. } = &*self.pair;
        Ok((hcl.fst.finals[pair.hcl as usize] - pair.paid()) + grammar.final_cost(pair.grammar))
    }

    fn visit(&mut self, state: StateId) -> Result<()> {
        let ComposedGraph { pair: graphs, expanded, work } = self;
        let states = &expanded.states;
        if states.arcs(state).is_some() {
            return Ok(());
        }
        match states.key(state) {
            Some(pair) if pair.pending == NOTHING => work.expand(graphs, expanded, pair),
            Some(pair) => work.expand_pending(graphs, pair),
            None => return Ok(()),
        }
        states.expand(state, &mut work.epsilons, &mut work.emitting)
    }

    fn emitting(&self, state: StateId) -> impl Iterator<Item = Arc> {
        let arcs = self.expanded.states.arcs(state).map_or(&[][..], |arcs| arcs.emitting());
        arcs.iter().copied()
    }

    fn epsilons(&self, state: StateId) -> impl Iterator<Item = Arc> {
        let arcs = self.expanded.states.arcs(state).map_or(&[][..], |arcs| arcs.epsilons());
        arcs.iter().copied()
    }

    fn may_have_epsilons(&self, state: StateId) -> bool {
        self.expanded.states.arcs(state).is_none_or(|arcs| !arcs.epsilons().is_empty())
    }

    fn is_full(&self) -> bool {
        let searches = self.pair.shared.searches.load(Ordering::Relaxed);
        self.expanded.states.bytes() > searches.saturating_mul(MOST_BYTES).min(MOST_SHARED_BYTES)
    }

    fn forget_others(&mut self, keep: &mut dyn Iterator<Item = &mut StateId>) -> Result<()> {
        let latest = self.pair.replaced(&self.expanded);
        let full = std::mem::replace(&mut self.expanded, latest);
        for state in keep {
            if let Some(pair) = full.states.key(*state) {
                *state = self.expanded.states.number(pair)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::position;

    #[test]
    fn positions_of_labels() {
        let mut random = fastrand::Rng::with_seed(1);
        for round in 0..2000 {
            // (Some lists are dense, some have the same label twice.)
            let gap = [1, 2, 30][round % 3];
            let mut label = random.i32(1..5);
            let labels: Vec<i32> = (0..random.usize(0..40))
                .map(|_| {
                    label += random.i32(i32::from(round % 2 == 0)..=gap);
                    label
                })
                .collect();
            let begin = random.usize(0..=labels.len());
            for wanted in 0..label + 3 {
                let expected = begin + labels[begin..].iter().take_while(|&&there| there < wanted).count();
                assert_eq!(position(&labels, begin, wanted), expected, "{labels:?} {begin} {wanted}");
            }
        }
    }
}
