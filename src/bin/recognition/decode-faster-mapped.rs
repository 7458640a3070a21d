//! `decode-faster-mapped`: log-likelihoods of pdfs → words.

use anyhow::Result;
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;

use crate::recognition::viterbi::{self, MatrixTables, PruningArgs, ViterbiOptions};
use nnet3_online::graph;

/// Decode, reading log-likelihoods as matrices (model is needed only for the integer mappings in its transition-model).
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: decode-faster-mapped final.mdl HCLG.fst ark:loglikes.ark ark,t:words.txt ark:ali.ark"
)]
pub struct Options {
    #[command(flatten)]
    pruning: PruningArgs,
    #[command(flatten)]
    viterbi: ViterbiOptions,
    /// Write output in binary mode. No effect: the names of tables say it.
    #[arg(long, default_value_t = true)]
    binary: bool,
    model_in: String,
    fst_in: String,
    #[command(flatten)]
    tables: MatrixTables,
}

pub fn run(options: Options) -> Result<u8> {
    let model: TransitionModel = read_object(&options.model_in)?;
    let (graph, _) = graph::read_whole(&options.fst_in, model.num_transition_ids())?;
    viterbi::decode_matrices(
        &options.viterbi,
        options.pruning.pruning()?,
        &graph,
        model.pdfs(),
        &options.tables,
    )
}
