//! The graphs that decoders search: in one file, a pair that is composed on the way, or a grammar of graphs.

use anyhow::{Context, Result, bail};
use kaldi_fst::store::{self, FileOrMemory, FlatOrNgrams, Names};
use kaldi_graph::grammar::GrammarFst;
use kaldi_io::{KaldiReader, read_object};
use nnet3_decode::decoder::{
    ComposedGraph, ExpandedGrammar, Grammar, GrammarGraph, GraphPair, LatticeDecoder, SearchGraph,
    SearchOptions, VisitedGraph,
};

use nnet3::fsts;
use nnet3::lattices::no_name;

/// Arcs (of 16 bytes) up to which a graph in a file is checked at once.
const MOST_ARCS: usize = 1 << 24;

/// A graph for all utterances.
pub enum SharedGraph {
    Whole(SearchGraph),
    Pair(Box<GraphPair>),
    Grammar(Box<GrammarGraph>),
}

/// A decoder with the graph of all utterances.
pub enum SharedDecoder<'g> {
    Whole(Box<LatticeDecoder<VisitedGraph<'g>>>),
    Pair(Box<LatticeDecoder<ComposedGraph<'g>>>),
    Grammar(Box<LatticeDecoder<ExpandedGrammar<'g>>>),
}

/// Files of the two halves of a graph, and the list of input labels that consume no frame.
#[derive(Debug, Clone, Copy)]
pub struct PairFiles<'f> {
    pub hcl: &'f str,
    pub grammar: &'f str,
    pub disambiguation: &'f str,
}

impl SharedGraph {
    pub fn decoder(&self, options: SearchOptions) -> Result<SharedDecoder<'_>> {
        Ok(match self {
            SharedGraph::Whole(graph) => {
                SharedDecoder::Whole(Box::new(LatticeDecoder::new(graph.unvisited(), options)?))
            }
            SharedGraph::Pair(pair) => {
                SharedDecoder::Pair(Box::new(LatticeDecoder::new(ComposedGraph::new(pair), options)?))
            }
            SharedGraph::Grammar(grammar) => {
                SharedDecoder::Grammar(Box::new(LatticeDecoder::new(ExpandedGrammar::new(grammar), options)?))
            }
        })
    }

    /// Checks that all words of the graph have names. Skips graphs that stay in their files and are too large for it;
    /// there a missing name is found when it is needed.
    pub fn check_names(&self, names: &Names) -> Result<()> {
        let is_known = |word| names.get(word).is_some();
        let unknown = match self {
            SharedGraph::Whole(graph) => graph.unknown_word(MOST_ARCS, is_known),
            SharedGraph::Pair(pair) => pair.unknown_word(is_known),
            SharedGraph::Grammar(grammar) => grammar.unknown_word(is_known),
        };
        match unknown {
            None => Ok(()),
            Some(word) => bail!("{}", no_name(word)),
        }
    }
}

/// Reads a graph from one file, with the names of its words if it has them. A graph of type `const` stays in the file.
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
    Ok((graph.with_context(|| rxfilename.to_owned())?, names))
}

/// Reads both halves of a graph. Also returns the names of words if the language model has them.
pub fn read_pair(files: PairFiles<'_>, num_transition_ids: usize) -> Result<(GraphPair, Option<Names>)> {
    let PairFiles { hcl, grammar, disambiguation } = files;
    let mut r = open(hcl)?;
    let hcl_fst = store::read_look_ahead(&mut r)?;
    r.finish()?;
    let mut r = open(grammar)?;
    let (fst, names) = store::read_with_names(&mut r)?;
    r.finish()?;
    let grammar = match fst {
        FlatOrNgrams::Flat(fst) => fst.into(),
        FlatOrNgrams::Ngrams(fst) => Grammar::Ngrams(fst),
    };
    let disambiguation = fsts::read_disambiguation(disambiguation)?;
    let pair = GraphPair::new(hcl_fst, grammar, &disambiguation, num_transition_ids);
    Ok((pair.with_context(|| hcl.to_owned())?, names))
}

/// Reads a grammar, as make-grammar-fst writes it.
pub fn read_grammar(rxfilename: &str, num_transition_ids: usize) -> Result<GrammarGraph> {
    let grammar: GrammarFst = read_object(rxfilename)?;
    GrammarGraph::new(grammar, num_transition_ids).with_context(|| rxfilename.to_owned())
}

fn open(rxfilename: &str) -> kaldi_io::Result<KaldiReader> {
    let mut r = KaldiReader::open_raw(rxfilename)?;
    r.set_binary(true);
    Ok(r)
}
