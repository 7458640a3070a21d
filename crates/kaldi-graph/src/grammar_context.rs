//! C for grammars: graphs that refer to other graphs by nonterminal symbols. The phones that surround such a reference are
//! not known when a graph is made, so arcs at its ends carry the phone on the known side beside the nonterminal (Kaldi's
//! `doc/grammar.dox`). Only one phone of left context is possible.

use kaldi_fst::{EPSILON, Fst, StateId};
use rustc_hash::FxHashSet;

use crate::context::InverseContext;
use crate::error::{Error, Result};
use crate::ilabels::{IlabelInfo, Labels};

/// Symbols with these distances from the first one have fixed meanings; all that follow are user-defined nonterminals.
const BEGIN_OF_SENTENCE: i32 = 0;
const BEGIN: i32 = 1;
const END: i32 = 2;
const REENTER: i32 = 3;
const USER_DEFINED: i32 = 4;

/// In graphs, labels of nonterminals with phones begin here.
pub(crate) const FIRST_LABEL: i32 = 10_000_000;
/// The distance of labels of one nonterminal from those of the next is a multiple of this.
const UNIT: i32 = 1000;

/// The label in graphs of a nonterminal symbol and the phone beside it. `None` if the two make no sense with the number of
/// the first nonterminal symbol, `#nonterm_bos`.
pub(crate) fn nonterminal_label(first_symbol: i32, nonterminal: i32, phone: i32) -> Option<i32> {
    if nonterminal <= first_symbol || phone <= 0 || phone > first_symbol {
        return None;
    }
    let distance = UNIT.checked_mul(first_symbol.checked_add(UNIT)? / UNIT)?;
    nonterminal.checked_mul(distance)?.checked_add(FIRST_LABEL)?.checked_add(phone)
}

/// The context FST of left biphones between nonterminals. A state is the last phone, or a special symbol.
#[derive(Debug, Clone)]
pub struct GrammarContext {
    first_symbol: i32,
    phones: FxHashSet<i32>,
    disambiguation: FxHashSet<i32>,
    labels: Labels,
}

impl GrammarContext {
    /// Makes the context for composition with `fst`; `first_symbol` is the number of `#nonterm_bos`.
    pub fn for_fst(fst: &Fst, first_symbol: i32, disambiguation: &[i32]) -> Result<GrammarContext> {
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
            (first_symbol..first_symbol + USER_DEFINED).find(|symbol| disambiguation.contains(symbol))
        {
            return Err(Error::mismatch(format!(
                "disambiguation symbol {symbol} is also one of the nonterminal symbols from {first_symbol} on"
            )));
        }
        Ok(GrammarContext { first_symbol, phones, disambiguation, labels: Labels::new() })
    }

    pub fn into_labels(self) -> IlabelInfo {
        self.labels.into_info()
    }

    fn special(&self, which: i32) -> i32 {
        self.first_symbol + which
    }

    /// Leaves a state in which the last phone is known, or in which it is known that there is none.
    fn step_from_phone(&mut self, phone: i32, symbol: i32) -> Option<(i32, i32)> {
        let beside = if phone == 0 { self.special(BEGIN_OF_SENTENCE) } else { phone };
        if self.phones.contains(&symbol) {
            Some((self.labels.of(vec![phone, symbol]), symbol))
        } else if self.disambiguation.contains(&symbol) {
            Some((self.labels.of(vec![-symbol]), phone))
        } else if symbol == self.special(BEGIN) && phone == 0 {
            Some((EPSILON, symbol))
        } else if symbol == self.special(END) {
            Some((self.labels.of(vec![-symbol, beside]), symbol))
        } else if symbol >= self.special(USER_DEFINED) {
            Some((self.labels.of(vec![-symbol, beside]), self.special(USER_DEFINED)))
        } else {
            None
        }
    }

    /// Leaves a state in which a nonterminal has just begun or ended, so that the phone before is not known.
    fn step_from_nonterminal(&mut self, nonterminal: i32, symbol: i32) -> Option<(i32, i32)> {
        let is_beginning = symbol == self.special(BEGIN_OF_SENTENCE);
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
        symbol == 0 || self.phones.contains(&symbol) || symbol == self.special(END)
    }

    fn step(&mut self, state: StateId, phone: i32) -> Result<Option<(i32, StateId)>> {
        let from = state as i32;
        let step = if from == self.special(BEGIN) {
            self.step_from_nonterminal(from, phone)
        } else if from == self.special(USER_DEFINED) {
            self.step_from_nonterminal(self.special(REENTER), phone)
        } else if from == self.special(END) {
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
