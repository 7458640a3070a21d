//! C for grammars: graphs that refer to other graphs by nonterminal symbols. A graph is made without knowledge of the
//! phones around such a reference. So arcs at its ends carry the nonterminal and the phone on the known side (Kaldi's
//! `doc/grammar.dox`). Only one phone of left context is possible.

use kaldi_fst::{EPSILON, Fst, StateId};
use rustc_hash::FxHashSet;

use crate::context::InverseContext;
use crate::error::{Error, Result};
use crate::grammar::Nonterminals;
use crate::ilabels::{IlabelInfo, Labels};

/// The context FST of left biphones between nonterminals. A state is the last phone, or a special symbol.
#[derive(Debug, Clone)]
pub struct GrammarContext {
    nonterminals: Nonterminals,
    phones: FxHashSet<i32>,
    disambiguation: FxHashSet<i32>,
    labels: Labels,
}

impl GrammarContext {
    /// Makes the context for composition with `fst`; `first_symbol` is the number of `#nonterm_bos`.
    pub fn for_fst(fst: &Fst, first_symbol: i32, disambiguation: &[i32]) -> Result<GrammarContext> {
        let nonterminals = Nonterminals { first_symbol };
        let disambiguation: FxHashSet<i32> = disambiguation.iter().copied().collect();
        let labels = fst.states.iter().flat_map(|state| &state.arcs).map(|arc| arc.ilabel);
        let is_phone =
            |label: &i32| *label != EPSILON && *label < first_symbol && !disambiguation.contains(label);
        let phones: FxHashSet<i32> = labels.filter(is_phone).collect();
        if first_symbol <= 0 || disambiguation.iter().any(|&symbol| symbol <= 0) {
            return Err(Error::mismatch(
                "symbols of disambiguation and the first nonterminal symbol must be larger than 0",
            ));
        }
        if let Some(symbol) =
            (first_symbol..nonterminals.first_user_defined()).find(|symbol| disambiguation.contains(symbol))
        {
            return Err(Error::mismatch(format!(
                "disambiguation symbol {symbol} is also one of the nonterminal symbols from {first_symbol} on"
            )));
        }
        Ok(GrammarContext { nonterminals, phones, disambiguation, labels: Labels::new() })
    }

    pub fn into_labels(self) -> IlabelInfo {
        self.labels.into_info()
    }

    /// Leaves a state in which the last phone is known, or in which it is known that there is none.
    fn step_from_phone(&mut self, phone: i32, symbol: i32) -> Option<(i32, i32)> {
        let beside = if phone == 0 { self.nonterminals.first_symbol } else { phone };
        if self.phones.contains(&symbol) {
            Some((self.labels.of(vec![phone, symbol]), symbol))
        } else if self.disambiguation.contains(&symbol) {
            Some((self.labels.of(vec![-symbol]), phone))
        } else if symbol == self.nonterminals.begin() && phone == 0 {
            Some((EPSILON, symbol))
        } else if symbol == self.nonterminals.end() {
            Some((self.labels.of(vec![-symbol, beside]), symbol))
        } else if symbol >= self.nonterminals.first_user_defined() {
            Some((self.labels.of(vec![-symbol, beside]), self.nonterminals.first_user_defined()))
        } else {
            None
        }
    }

    /// Leaves a state in which a nonterminal has just begun or ended, so that the phone before is not known.
    fn step_from_nonterminal(&mut self, nonterminal: i32, symbol: i32) -> Option<(i32, i32)> {
        let is_beginning = symbol == self.nonterminals.first_symbol;
        if !is_beginning && !self.phones.contains(&symbol) {
            return None;
        }
        let label = self.labels.of(vec![-nonterminal, symbol]);
        Some((label, if is_beginning { 0 } else { symbol }))
    }
}

impl InverseContext for GrammarContext {
    fn is_final(&self, state: StateId) -> bool {
        let symbol = state as i32;
        symbol == 0 || self.phones.contains(&symbol) || symbol == self.nonterminals.end()
    }

    fn step(&mut self, state: StateId, phone: i32) -> Result<Option<(i32, StateId)>> {
        let from = state as i32;
        let step = if from == self.nonterminals.begin() {
            self.step_from_nonterminal(from, phone)
        } else if from == self.nonterminals.first_user_defined() {
            self.step_from_nonterminal(self.nonterminals.reenter(), phone)
        } else if from == self.nonterminals.end() {
            None
        } else {
            self.step_from_phone(from, phone)
        };
        Ok(step.map(|(label, next)| (label, next as StateId)))
    }

    fn labels(&self) -> IlabelInfo {
        self.labels.info()
    }
}
