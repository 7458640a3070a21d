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

use kaldi_fst::look_ahead::LookAheadFile;
use kaldi_fst::{Arc, EPSILON, StateId};
use rustc_hash::FxHashMap;

use super::grammar::Grammar;
use super::graph::Graph;
use super::hcl::Hcl;
use super::log_sums::GrammarArcs;
use super::next_words::{Ahead, Memory, NextWords};
use super::shared_states::{ArcTo, SharedStates, hash};
use crate::error::Result;

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
    hcl: Shared<Hcl>,
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
    /// `num_transition_ids` are an error. Faults of a graph that stays in its file are found when a search visits them.
    pub fn new(
        hcl: impl Into<LookAheadFile>,
        grammar: Grammar,
        disambiguation: &[i32],
        num_transition_ids: usize,
    ) -> Result<GraphPair> {
        let hcl = Hcl::new(hcl.into(), disambiguation, num_transition_ids)?;
        Ok(GraphPair::of(Shared::new(hcl), grammar))
    }

    fn of(hcl: Shared<Hcl>, grammar: Grammar) -> GraphPair {
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
        let Some(start) = self.hcl.start() else { return BTreeMap::new() };
        let mut labels = self.grammar.input_labels(words);
        let reach = &self.hcl.reach;
        labels.retain(|_, &mut label| {
            label > EPSILON && label != reach.final_label() && reach.contains(start, label)
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
pub(super) struct Expanded {
    states: SharedStates<Pair>,
    /// Cumulative costs of the arcs of states of G with many arcs.
    sums: Mutex<FxHashMap<StateId, Shared<[f64]>>>,
}

/// The arcs of a state that is being expanded. Kept for their memory.
#[derive(Debug, Default)]
struct Work {
    epsilons: Vec<ArcTo<Pair>>,
    emitting: Vec<ArcTo<Pair>>,
    /// The arcs of HCL.
    arcs: Vec<Arc>,
    memory: Memory,
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
    pub(super) fn sums(&self, arcs: &GrammarArcs<'_>) -> Shared<[f64]> {
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

    fn expand_pending(&mut self, GraphPair { hcl, .. }: &GraphPair, pair: Pair) -> Result<()> {
        let mut arcs = std::mem::take(&mut self.arcs);
        let without = hcl.arcs(pair.hcl, &mut arcs)?;
        let only_one = arcs.len() == 1;
        let (without, with) = arcs.split_at(without);
        for arc in without {
            if only_one || hcl.reach.contains(arc.next, pair.pending) {
                self.add(arc.ilabel, EPSILON, arc.weight, Pair { hcl: arc.next, ..pair });
            }
        }
        let first = with.partition_point(|arc| arc.olabel < pair.pending);
        for arc in with[first..].iter().take_while(|arc| arc.olabel == pair.pending) {
            let to = Pair { hcl: arc.next, pending: NOTHING, bound: false, ..pair };
            self.add(arc.ilabel, EPSILON, arc.weight, to);
        }
        self.arcs = arcs;
        Ok(())
    }

    fn expand(&mut self, graphs: &GraphPair, expanded: &Expanded, pair: Pair) -> Result<()> {
        let GraphPair { hcl, grammar, .. } = graphs;
        let mut arcs = std::mem::take(&mut self.arcs);
        let without = hcl.arcs(pair.hcl, &mut arcs)?;
        let paid = pair.paid();
        let free = Pair { pending: NOTHING, paid: FREE, bound: false, ..pair };
        if !pair.bound {
            for arc in grammar.epsilons(pair.grammar) {
                self.add(EPSILON, arc.olabel, arc.weight - paid, Pair { grammar: arc.next, ..free });
            }
        }
        let (without, with) = arcs.split_at(without);
        let mut memory = std::mem::take(&mut self.memory);
        let (hcl_at, grammar_at) = (pair.hcl, pair.grammar);
        let mut next_words = NextWords::new(&hcl.reach, hcl_at, grammar, grammar_at, expanded, &mut memory);
        let bound = grammar.has_epsilons(pair.grammar);
        let dead_end = next_words.is_empty();
        let without = if dead_end { &[][..] } else { without };
        for arc in without {
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
        next_words.match_arcs(with, |arc, i| {
            let word = grammar.arc(pair.grammar, i);
            let to = Pair { hcl: arc.next, grammar: word.next, ..free };
            self.add(arc.ilabel, word.olabel, arc.weight + (word.weight - paid), to);
        });
        self.memory = memory;
        self.arcs = arcs;
        Ok(())
    }
}

impl<P: Deref<Target = GraphPair>> Graph for ComposedGraph<P> {
    const GROWS: bool = true;

    fn start(&mut self) -> Option<StateId> {
        // (Memory of a full part that others have left is not held any longer.)
        self.expanded = self.pair.latest();
        let (hcl, grammar) = (self.pair.hcl.start()?, self.pair.grammar.start()?);
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
        Ok((hcl.final_cost(pair.hcl)? - pair.paid()) + grammar.final_cost(pair.grammar))
    }

    fn visit(&mut self, state: StateId) -> Result<()> {
        let ComposedGraph { pair: graphs, expanded, work } = self;
        let states = &expanded.states;
        if states.arcs(state).is_some() {
            return Ok(());
        }
        match states.key(state) {
            Some(pair) if pair.pending == NOTHING => work.expand(graphs, expanded, pair)?,
            Some(pair) => work.expand_pending(graphs, pair)?,
            None => return Ok(()),
        }
        states.expand(state, &mut work.epsilons, &mut work.emitting)
    }

    fn check(&self, thorough: bool) -> Result<()> {
        self.pair.hcl.check(thorough)
    }

    fn emitting(&self, state: StateId) -> impl Iterator<Item = Arc> {
        let arcs = self.expanded.states.arcs(state).map_or(&[][..], |arcs| arcs.emitting());
        arcs.iter().copied()
    }

    fn epsilons(&self, state: StateId) -> impl Iterator<Item = Arc> {
        let arcs = self.expanded.states.arcs(state).map_or(&[][..], |arcs| arcs.epsilons());
        arcs.iter().copied()
    }

    fn expect_state(&self, state: StateId) {
        self.expanded.states.expect(state);
    }

    fn expect_arcs(&self, state: StateId) {
        let states = &self.expanded.states;
        match states.arcs(state) {
            Some(arcs) => arcs.expect(),
            None => {
                if let Some(pair) = states.key(state) {
                    self.pair.hcl.expect(pair.hcl);
                }
            }
        }
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
