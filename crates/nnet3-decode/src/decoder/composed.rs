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
use std::sync::Arc as Shared;

use kaldi_fst::{Arc, EPSILON, LookAheadFst, StateId};
use rustc_hash::FxHashMap;

use super::grammar::Grammar;
use super::graph::Graph;
use super::log_sums::{LogSums, StateArcs, plus};
use crate::error::{Error, Result};

/// No label is pending.
const NOTHING: i32 = -1;
/// The early cost of a state is a multiple of this, so that few states differ in it.
const STEP: f32 = 1.0 / 1024.0;
/// Approximate memory limit of expanded states and arcs; above it they are dropped.
const MOST_BYTES: usize = 64 << 20;
/// The position of the arcs of a state that has not been expanded.
const UNKNOWN: u32 = u32::MAX;

/// HCL and G. Clones share HCL.
#[derive(Debug, Clone)]
pub struct GraphPair {
    hcl: Shared<LookAheadFst>,
    grammar: Grammar,
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
        Ok(GraphPair { hcl: Shared::new(hcl), grammar })
    }

    /// Returns the pair of the same HCL and another G, whose input labels must be those of HCL.
    pub fn with_grammar(&self, grammar: Grammar) -> GraphPair {
        GraphPair { hcl: self.hcl.clone(), grammar }
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

/// The arcs of a state: the first epsilon arc, the first arc that consumes a frame, and the end.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: u32,
    emitting: u32,
    end: u32,
}

/// The composition, as far as one search has expanded it. `P` points to the pair: a reference, or an owner such as
/// [`Arc`](std::sync::Arc).
#[derive(Debug)]
pub struct ComposedGraph<P> {
    pair: P,
    expanded: Expanded,
}

/// The expanded part of the composition.
#[derive(Debug, Default)]
struct Expanded {
    pairs: Vec<Pair>,
    known: Vec<Span>,
    arcs: Vec<Arc>,
    numbers: FxHashMap<Pair, StateId>,
    sums: LogSums,
    // Kept for their memory.
    epsilons: Vec<Arc>,
    emitting: Vec<Arc>,
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
        ComposedGraph { pair, expanded: Expanded::default() }
    }
}

impl Expanded {
    fn number(&mut self, pair: Pair) -> StateId {
        *self.numbers.entry(pair).or_insert_with(|| {
            self.pairs.push(pair);
            self.known.push(Span { first: UNKNOWN, emitting: UNKNOWN, end: UNKNOWN });
            self.pairs.len() as StateId - 1
        })
    }

    /// Works out the arcs of a state.
    fn work_out(&mut self, graphs: &GraphPair, state: StateId) {
        if self.known[state as usize].first != UNKNOWN {
            return;
        }
        let pair = self.pairs[state as usize];
        if pair.pending == NOTHING {
            self.expand(graphs, pair);
        } else {
            self.expand_pending(graphs, pair);
        }
        let first = self.arcs.len() as u32;
        let emitting = first + self.epsilons.len() as u32;
        self.arcs.append(&mut self.epsilons);
        self.arcs.append(&mut self.emitting);
        self.known[state as usize] = Span { first, emitting, end: self.arcs.len() as u32 };
    }

    fn add(&mut self, ilabel: i32, olabel: i32, weight: f32, to: Pair) {
        let arc = Arc { ilabel, olabel, weight, next: self.number(to) };
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

    fn expand(&mut self, graphs: &GraphPair, pair: Pair) {
        let GraphPair { hcl, grammar } = graphs;
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
        for arc in hcl.fst.arcs[without].iter().filter(|_| !dead_end) {
            let to = Pair { hcl: arc.next, bound, ..free };
            match self.ahead(graphs, arc.next, pair.grammar) {
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

    /// Returns the possible next words after HCL has gone to `hcl` while G has stayed.
    fn ahead(&mut self, graphs: &GraphPair, hcl: StateId, state: StateId) -> Ahead {
        let (reach, grammar) = (&graphs.hcl.reach, &graphs.grammar);
        let (labels, costs) = grammar.labels_and_costs(state);
        let ending = if reach.reaches_end(hcl) { grammar.final_cost(state) } else { f32::INFINITY };
        let arcs = StateArcs { grammar, state, costs, epsilons: grammar.epsilons(state).count() };
        let (mut count, mut first, mut cost) = (0, 0, f32::INFINITY);
        let intervals = reach.intervals(hcl);
        if 2 * (arcs.epsilons + labels.len()) < intervals.len() {
            for (i, &label) in labels.iter().enumerate() {
                if reach.contains(hcl, label) {
                    if count == 0 {
                        first = i;
                    }
                    count += 1;
                    cost = plus(cost, costs[i]);
                }
            }
        } else {
            let mut begin = 0;
            for &[low, high] in intervals {
                begin += labels[begin..].partition_point(|&label| label < low);
                let end = begin + labels[begin..].partition_point(|&label| label < high);
                if begin < end {
                    if count == 0 {
                        first = begin;
                    }
                    count += end - begin;
                    cost = self.sums.add(cost, &arcs, begin..end);
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

impl<P: Deref<Target = GraphPair>> Graph for ComposedGraph<P> {
    fn start(&mut self) -> Option<StateId> {
        let (hcl, grammar) = (self.pair.hcl.fst.start?, self.pair.grammar.start()?);
        Some(self.expanded.number(Pair { hcl, grammar, pending: NOTHING, paid: FREE, bound: false }))
    }

    fn num_states(&self) -> usize {
        self.expanded.pairs.len()
    }

    fn final_cost(&self, state: StateId) -> Result<f32> {
        let pair = &self.expanded.pairs[state as usize];
        if pair.pending != NOTHING {
            return Ok(f32::INFINITY);
        }
        let GraphPair { hcl, grammar } = &*self.pair;
        Ok((hcl.fst.finals[pair.hcl as usize] - pair.paid()) + grammar.final_cost(pair.grammar))
    }

    fn visit(&mut self, state: StateId) -> Result<()> {
        self.expanded.work_out(&self.pair, state);
        Ok(())
    }

    fn emitting(&self, state: StateId) -> impl Iterator<Item = Arc> {
        let Span { emitting, end, .. } = self.expanded.known[state as usize];
        self.expanded.arcs[emitting as usize..end as usize].iter().copied()
    }

    fn epsilons(&self, state: StateId) -> impl Iterator<Item = Arc> {
        let Span { first, emitting, .. } = self.expanded.known[state as usize];
        self.expanded.arcs[first as usize..emitting as usize].iter().copied()
    }

    fn may_have_epsilons(&self, state: StateId) -> bool {
        let Span { first, emitting, .. } = self.expanded.known[state as usize];
        first == UNKNOWN || first < emitting
    }

    fn is_full(&self) -> bool {
        let bytes_per_state = 2 * size_of::<Pair>() + size_of::<Span>() + size_of::<StateId>();
        self.expanded.pairs.len() * bytes_per_state + self.expanded.arcs.len() * size_of::<Arc>() > MOST_BYTES
    }

    fn forget_others(&mut self, keep: &mut dyn Iterator<Item = &mut StateId>) {
        let expanded = &mut self.expanded;
        let pairs = std::mem::take(&mut expanded.pairs);
        expanded.known.clear();
        expanded.arcs.clear();
        expanded.numbers.clear();
        for state in keep {
            *state = expanded.number(pairs[*state as usize]);
        }
    }
}
