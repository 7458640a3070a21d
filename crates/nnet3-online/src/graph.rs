//! The graphs that decoders search: in one file, a pair that is composed on the way, or a grammar of graphs.

use std::sync::Arc;

use kaldi_fst::labels::read_disambiguation;
use kaldi_fst::store::{self, FileOrMemory, FlatOrNgrams, Names};
use kaldi_fst::{FlatFst, Fst};
use kaldi_graph::grammar::GrammarFst;
use kaldi_io::{KaldiReader, read_object};
use nnet3_decode::decoder::{
    ComposedGraph, ExpandedGrammar, Grammar, GrammarGraph, GraphPair, LatticeDecoder, SearchGraph,
    SearchOptions, VisitedGraph,
};

use crate::error::{Error, Result};
use crate::search::Search;

/// Arcs (of 16 bytes) up to which a graph in a file is checked at once.
const MOST_ARCS: usize = 1 << 24;

/// A graph for all utterances. Searches on several threads share it.
#[derive(Debug, Clone)]
pub enum SharedGraph {
    /// One graph (`HCLG.fst`).
    Whole(Arc<SearchGraph>),
    /// Two halves that are composed during the search (`HCLr.fst`, `Gr.fst`).
    Pair(Arc<GraphPair>),
    /// Graphs that refer to each other.
    Grammar(Arc<GrammarGraph>),
}

/// Files of the two halves of a graph, and the list of input labels that consume no frame.
#[derive(Debug, Clone, Copy)]
pub struct PairFiles<'f> {
    /// `HCLr.fst`.
    pub hcl: &'f str,
    /// `Gr.fst`.
    pub grammar: &'f str,
    /// `disambig_tid.int`.
    pub disambiguation: &'f str,
}

impl SharedGraph {
    /// Makes a search over the graph.
    ///
    /// # Errors
    /// Options that make no sense.
    pub fn search(&self, options: SearchOptions) -> Result<Box<dyn Search>> {
        Ok(match self {
            SharedGraph::Whole(graph) => {
                Box::new(LatticeDecoder::new(VisitedGraph::new(graph.clone()), options)?)
            }
            SharedGraph::Pair(pair) => {
                Box::new(LatticeDecoder::new(ComposedGraph::new(pair.clone()), options)?)
            }
            SharedGraph::Grammar(grammar) => {
                Box::new(LatticeDecoder::new(ExpandedGrammar::new(grammar.clone()), options)?)
            }
        })
    }

    /// Checks that all words of the graph have names. Skips graphs that stay in their files and are too large for it;
    /// there a missing name is found when it is needed.
    ///
    /// # Errors
    /// A word of the graph has no name.
    pub fn check_names(&self, names: &Names) -> Result<()> {
        let gap = names.first_gap();
        let is_known = |word| (1..gap).contains(&word) || names.get(word).is_some();
        let unknown = match self {
            SharedGraph::Whole(graph) => graph.unknown_word(MOST_ARCS, is_known),
            SharedGraph::Pair(pair) => pair.unknown_word(is_known),
            SharedGraph::Grammar(grammar) => grammar.unknown_word(is_known),
        };
        unknown.map_or(Ok(()), |word| Err(Error::UnknownWord(word)))
    }
}

impl From<SearchGraph> for SharedGraph {
    fn from(graph: SearchGraph) -> SharedGraph {
        SharedGraph::Whole(Arc::new(graph))
    }
}

impl From<GraphPair> for SharedGraph {
    fn from(pair: GraphPair) -> SharedGraph {
        SharedGraph::Pair(Arc::new(pair))
    }
}

impl From<GrammarGraph> for SharedGraph {
    fn from(grammar: GrammarGraph) -> SharedGraph {
        SharedGraph::Grammar(Arc::new(grammar))
    }
}

/// Reads a graph from one file, with the names of its words if it has them. A graph of type `const` stays in the file.
///
/// # Errors
/// The file cannot be read, or has labels that are no transition-ids.
pub fn read_whole(rxfilename: &str, num_transition_ids: usize) -> Result<(SearchGraph, Option<Names>)> {
    let mut r = open(rxfilename)?;
    let (fst, names) = store::read_graph(&mut r)?;
    let graph = match fst {
        FileOrMemory::File(fst) => Ok(SearchGraph::mapped(fst, num_transition_ids)),
        FileOrMemory::Memory(FlatOrNgrams::Flat(fst)) => {
            r.finish()?;
            SearchGraph::new(fst, num_transition_ids)
        }
        FileOrMemory::Memory(FlatOrNgrams::Ngrams(_)) => {
            return Err(r.error("expected a decoding graph, found a language model (type 'ngram')").into());
        }
    };
    Ok((graph.map_err(Error::of(rxfilename))?, names))
}

/// Reads both halves of a graph. Also returns the names of words if the language model has them.
///
/// # Errors
/// A file cannot be read, or has labels that are no transition-ids.
pub fn read_pair(files: PairFiles<'_>, num_transition_ids: usize) -> Result<(GraphPair, Option<Names>)> {
    let PairFiles { hcl, grammar, disambiguation } = files;
    let mut r = open(hcl)?;
    let hcl_fst = store::read_look_ahead_file(&mut r)?;
    r.finish()?;
    let mut r = open(grammar)?;
    let (fst, names) = store::read_with_names(&mut r)?;
    r.finish()?;
    let grammar = match fst {
        FlatOrNgrams::Flat(fst) => fst.into(),
        FlatOrNgrams::Ngrams(fst) => Grammar::Ngrams(fst),
    };
    let disambiguation = read_disambiguation(disambiguation)?;
    let pair = GraphPair::new(hcl_fst, grammar, &disambiguation, num_transition_ids);
    Ok((pair.map_err(Error::of(hcl))?, names))
}

/// Reads the first half of a graph alone: a pair whose language model is empty.
///
/// # Errors
/// A file cannot be read, or has labels that are no transition-ids.
pub(crate) fn read_half(hcl: &str, disambiguation: &str, num_transition_ids: usize) -> Result<GraphPair> {
    let mut r = open(hcl)?;
    let hcl_fst = store::read_look_ahead_file(&mut r)?;
    r.finish()?;
    let nothing = FlatFst::from(&Fst::<f32>::default()).into();
    GraphPair::new(hcl_fst, nothing, &read_disambiguation(disambiguation)?, num_transition_ids)
        .map_err(Error::of(hcl))
}

/// Reads a grammar, as make-grammar-fst writes it.
///
/// # Errors
/// The file cannot be read, or has labels that are no transition-ids.
pub fn read_grammar(rxfilename: &str, num_transition_ids: usize) -> Result<GrammarGraph> {
    let grammar: GrammarFst = read_object(rxfilename)?;
    GrammarGraph::new(grammar, num_transition_ids).map_err(Error::of(rxfilename))
}

fn open(rxfilename: &str) -> kaldi_io::Result<KaldiReader> {
    let mut r = KaldiReader::open_raw(rxfilename)?;
    r.set_binary(true);
    Ok(r)
}
