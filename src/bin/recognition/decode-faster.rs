//! `decode-faster`: log-likelihoods of input labels → words.

use anyhow::{Context, Result};
use kaldi_fst::store;
use nnet3_decode::decoder::SearchGraph;

use crate::recognition::viterbi::{self, MatrixTables, PruningArgs, ViterbiOptions};

/// Decode, reading log-likelihoods (of transition-ids or whatever symbol is on the graph) as matrices. Note: you'll usually want
/// decode-faster-mapped rather than this program.
///
/// Column i (from 0) belongs to input label i + 1.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: decode-faster HCLG.fst ark:loglikes.ark ark,t:words.txt ark:ali.ark")]
pub struct Options {
    #[command(flatten)]
    pruning: PruningArgs,
    #[command(flatten)]
    viterbi: ViterbiOptions,
    /// Write output in binary mode. No effect: the names of tables say it.
    #[arg(long, default_value_t = true)]
    binary: bool,
    fst_in: String,
    #[command(flatten)]
    tables: MatrixTables,
}

pub fn run(options: Options) -> Result<u8> {
    let fst = store::read_fst(&options.fst_in)?;
    let largest = fst.states.iter().flat_map(|state| &state.arcs).map(|arc| arc.ilabel).max().unwrap_or(0);
    let labels = usize::try_from(largest)?;
    let graph = SearchGraph::new((&fst).into(), labels).with_context(|| options.fst_in.clone())?;
    let columns: Vec<i32> = std::iter::once(0).chain(0..labels as i32).collect();
    viterbi::decode_matrices(&options.viterbi, options.pruning.pruning()?, &graph, &columns, &options.tables)
}
