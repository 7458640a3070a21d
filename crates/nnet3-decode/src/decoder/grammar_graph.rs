//! A grammar as a search wants it: graphs that refer to each other are put together where the search comes (Kaldi's
//! `GrammarFst`).

use std::ops::Deref;

use kaldi_fst::state_table::StateTable;
use kaldi_fst::{Arc, EPSILON, StateId};
use kaldi_graph::grammar::{Expansion, FIRST_LABEL, GrammarArc, GrammarFst, GrammarState};

use super::graph::{Graph, check_label};
use crate::error::{Error, Result};

/// States and arcs that are worked out take at most about this much memory before they are forgotten.
const MOST_BYTES: usize = 64 << 20;

/// A grammar whose input labels are transition-ids of a model, but for nonterminals.
#[derive(Debug, Clone)]
pub struct GrammarGraph {
    grammar: GrammarFst,
    num_transition_ids: usize,
}

impl GrammarGraph {
    /// Checks the labels. An error if the grammar has input labels above `num_transition_ids` that are no nonterminals.
    pub fn new(grammar: GrammarFst, num_transition_ids: usize) -> Result<GrammarGraph> {
        for (s, state) in grammar.graphs().flat_map(|graph| graph.numbered()) {
            for arc in state.arcs.iter().filter(|arc| arc.ilabel < FIRST_LABEL) {
                check_label(s, arc.ilabel, num_transition_ids)?;
            }
        }
        Ok(GrammarGraph { grammar, num_transition_ids })
    }

    /// Returns the first word for which `is_known` is false.
    pub fn unknown_word(&self, is_known: impl Fn(i32) -> bool) -> Option<i32> {
        let states = self.grammar.graphs().flat_map(|graph| &graph.states);
        let mut words = states.flat_map(|state| &state.arcs).map(|arc| arc.olabel);
        words.find(|&word| word != EPSILON && !is_known(word))
    }
}

/// Positions of the arcs of a state: those that consume nothing come first.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: u32,
    emitting: u32,
    end: u32,
}

/// The part of a grammar that one search has looked at. `P` points to the grammar: a reference, or an owner such as
/// `Arc`.
#[derive(Debug)]
pub struct ExpandedGrammar<P> {
    graph: P,
    expansion: Expansion,
    states: StateTable<GrammarState>,
    /// `None` for states that were not visited.
    known: Vec<Option<Span>>,
    arcs: Vec<Arc>,
    // Kept for its memory.
    found: Vec<GrammarArc>,
}

impl<P: Deref<Target = GrammarGraph>> ExpandedGrammar<P> {
    pub fn new(graph: P) -> ExpandedGrammar<P> {
        ExpandedGrammar {
            expansion: Expansion::new(&graph.grammar),
            graph,
            states: StateTable::default(),
            known: Vec::new(),
            arcs: Vec::new(),
            found: Vec::new(),
        }
    }

    fn number(&mut self, state: GrammarState) -> StateId {
        let number = self.states.number(state);
        self.known.resize(self.states.len(), None);
        number
    }

    fn span(&self, state: StateId) -> Span {
        self.known[state as usize].unwrap_or(Span { first: 0, emitting: 0, end: 0 })
    }

    fn expand(&mut self, state: StateId) -> Result<()> {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let expanded = self.expansion.arcs(&self.graph.grammar, *self.states.key(state), &mut found);
        expanded.map_err(|error| Error::BrokenGraph(format!("grammar: {error}")))?;
        if let Some(arc) = found.iter().find(|arc| arc.ilabel as usize > self.graph.num_transition_ids) {
            return Err(Error::BrokenGraph(format!(
                "grammar: a search came to an arc with the label {} of a nonterminal; was the graph prepared by make-grammar-fst?",
                arc.ilabel
            )));
        }
        let first = self.arcs.len() as u32;
        let (epsilons, emitting): (Vec<_>, Vec<_>) = found.iter().partition(|arc| arc.ilabel == EPSILON);
        for GrammarArc { ilabel, olabel, weight, next } in epsilons.iter().chain(&emitting).copied() {
            let next = self.number(next);
            self.arcs.push(Arc { ilabel, olabel, weight, next });
        }
        let span = Span { first, emitting: first + epsilons.len() as u32, end: self.arcs.len() as u32 };
        self.known[state as usize] = Some(span);
        self.found = found;
        Ok(())
    }
}

impl<P: Deref<Target = GrammarGraph>> Graph for ExpandedGrammar<P> {
    const GROWS: bool = true;

    fn start(&mut self) -> Option<StateId> {
        let start = self.expansion.start(&self.graph.grammar)?;
        Some(self.number(start))
    }

    fn num_states(&self) -> usize {
        self.states.len()
    }

    fn final_cost(&self, state: StateId) -> Result<f32> {
        Ok(self.expansion.final_cost(&self.graph.grammar, *self.states.key(state)))
    }

    fn visit(&mut self, state: StateId) -> Result<()> {
        if self.known[state as usize].is_none() {
            self.expand(state)?;
        }
        Ok(())
    }

    fn emitting(&self, state: StateId) -> impl Iterator<Item = Arc> {
        let Span { emitting, end, .. } = self.span(state);
        self.arcs[emitting as usize..end as usize].iter().copied()
    }

    fn epsilons(&self, state: StateId) -> impl Iterator<Item = Arc> {
        let Span { first, emitting, .. } = self.span(state);
        self.arcs[first as usize..emitting as usize].iter().copied()
    }

    fn may_have_epsilons(&self, state: StateId) -> bool {
        self.known[state as usize].is_none_or(|Span { first, emitting, .. }| first < emitting)
    }

    fn is_full(&self) -> bool {
        let bytes_per_state =
            2 * size_of::<GrammarState>() + size_of::<Option<Span>>() + size_of::<StateId>();
        self.states.len() * bytes_per_state + self.arcs.len() * size_of::<Arc>() > MOST_BYTES
    }

    fn forget_others(&mut self, keep: &mut dyn Iterator<Item = &mut StateId>) -> Result<()> {
        let places: Vec<&mut StateId> = keep.collect();
        let mut kept: Vec<GrammarState> = places.iter().map(|place| *self.states.key(**place)).collect();
        self.expansion.forget_others(&mut kept);
        self.states = StateTable::default();
        self.known.clear();
        self.arcs.clear();
        for (place, state) in places.into_iter().zip(kept) {
            *place = self.number(state);
        }
        Ok(())
    }
}
