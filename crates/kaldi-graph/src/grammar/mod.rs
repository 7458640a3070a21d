//! Grammars: graphs that refer to other graphs by nonterminal symbols. The phones that surround such a reference are
//! unknown when a graph is made. So arcs at its ends carry the phone on the known side beside the nonterminal (Kaldi's
//! `doc/grammar.dox`). Only one phone of left context is possible.
//!
//! [`context`] is C of such graphs, and [`labels`] are the labels of nonterminals in them. [`prepare`] makes a graph a
//! part of a [`GrammarFst`]. [`expand`] joins the parts state by state.

pub mod context;
pub mod expand;
pub mod labels;
pub mod prepare;

use kaldi_fst::{Fst, store};
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter};
use rustc_hash::FxHashSet;

pub use context::GrammarContext;
pub use expand::{Expansion, GrammarArc, GrammarState};
pub use labels::{FIRST_LABEL, Nonterminals};
pub use prepare::{Prepared, prepare_for_grammar};

use crate::error::{Error, Result};
use expand::PhoneArcs;

/// The cost of ending that marks states whose arcs leave to other graphs.
pub const SPECIAL_COST: f32 = 4096.0;

/// The version of the file.
const FORMAT: i32 = 1;

/// A graph with the graphs that it refers to (`GrammarFst` in `decoder/grammar-fst.h`). All are prepared.
#[derive(Debug, Clone, PartialEq)]
pub struct GrammarFst {
    nonterminals: Nonterminals,
    top: Fst,
    /// Nonterminal symbols with their graphs.
    parts: Vec<(i32, Fst)>,
}

impl GrammarFst {
    /// Puts graphs together. An error if a nonterminal is not one that users define, or has two graphs; and if the first part
    /// cannot be entered. Other parts are looked at when they are entered.
    pub fn new(nonterminals: Nonterminals, top: Fst, parts: Vec<(i32, Fst)>) -> Result<GrammarFst> {
        if nonterminals.first_symbol <= 1 {
            return Err(Error::mismatch(format!(
                "the first nonterminal symbol must be larger than 1, found {}",
                nonterminals.first_symbol
            )));
        }
        let mut seen = FxHashSet::default();
        for &(nonterminal, _) in &parts {
            if !seen.insert(nonterminal) {
                return Err(Error::mismatch(format!(
                    "Nonterminal symbol {nonterminal} is paired with two FSTs."
                )));
            }
            let least = nonterminals.first_user_defined();
            if nonterminal < least {
                return Err(Error::mismatch(format!(
                    "Nonterminal symbol {nonterminal} in input pairs, was expected to be >= {least}"
                )));
            }
        }
        if let Some((_, first)) = parts.first() {
            PhoneArcs::of_start(first, nonterminals)?;
        }
        Ok(GrammarFst { nonterminals, top, parts })
    }

    pub fn nonterminals(&self) -> Nonterminals {
        self.nonterminals
    }

    /// The graph that is entered first, then those that it may refer to.
    pub fn graphs(&self) -> impl Iterator<Item = &Fst> {
        std::iter::once(&self.top).chain(self.parts.iter().map(|(_, part)| part))
    }
}

impl KaldiObject for GrammarFst {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<GrammarFst> {
        if !r.binary() {
            return Err(r.error("expected a grammar in binary form (it has no text form)"));
        }
        r.expect_token("<GrammarFst>")?;
        let format = r.read_i32()?;
        if format != FORMAT {
            return Err(r.error(format!("expected version {FORMAT} of grammar files, found {format}")));
        }
        let (count, first_symbol) = (r.read_i32()?, r.read_i32()?);
        if count < 0 {
            return Err(r.error(format!("invalid number of graphs: {count}")));
        }
        let top = store::read(r)?;
        let mut parts = Vec::new();
        for _ in 0..count {
            let nonterminal = r.read_i32()?;
            parts.push((nonterminal, store::read(r)?));
        }
        r.expect_token("</GrammarFst>")?;
        GrammarFst::new(Nonterminals { first_symbol }, top, parts).map_err(|error| r.error(error.to_string()))
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<GrammarFst>")?;
        w.write_i32(FORMAT)?;
        w.write_i32(self.parts.len() as i32)?;
        w.write_i32(self.nonterminals.first_symbol)?;
        store::write_const(w, &self.top, false)?;
        for (nonterminal, part) in &self.parts {
            w.write_i32(*nonterminal)?;
            store::write_const(w, part, false)?;
        }
        w.write_token("</GrammarFst>")
    }
}
