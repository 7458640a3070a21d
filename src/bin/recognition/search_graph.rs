//! A decoder with the graph of all utterances, of any kind.

use std::sync::Arc;

use anyhow::Result;
use nnet3_decode::decoder::{
    ComposedGraph, ExpandedGrammar, GrammarGraph, GraphPair, LatticeDecoder, SearchGraph, SearchOptions,
    VisitedGraph,
};
use nnet3_online::SharedGraph;

/// A decoder with the graph of all utterances.
pub enum SharedDecoder {
    Whole(Box<LatticeDecoder<VisitedGraph<Arc<SearchGraph>>>>),
    Pair(Box<LatticeDecoder<ComposedGraph<Arc<GraphPair>>>>),
    Grammar(Box<LatticeDecoder<ExpandedGrammar<Arc<GrammarGraph>>>>),
}

impl SharedDecoder {
    pub fn new(graph: &SharedGraph, options: SearchOptions) -> Result<SharedDecoder> {
        Ok(match graph.clone() {
            SharedGraph::Whole(graph) => {
                SharedDecoder::Whole(Box::new(LatticeDecoder::new(VisitedGraph::new(graph), options)?))
            }
            SharedGraph::Pair(pair) => {
                SharedDecoder::Pair(Box::new(LatticeDecoder::new(ComposedGraph::new(pair), options)?))
            }
            SharedGraph::Grammar(grammar) => {
                SharedDecoder::Grammar(Box::new(LatticeDecoder::new(ExpandedGrammar::new(grammar), options)?))
            }
        })
    }
}
