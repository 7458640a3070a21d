//! `chain-make-num-fst-e2e`: numerator graphs for end-to-end training, of training graphs.

use anyhow::{Context, Result};
use kaldi_fst::{FstHolder, read_fst};
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use nnet3::{messages, tables};
use nnet3_chain::normalize::Normalization;

/// Convert FSTs with transition-ids to FSTs with pdf-ids, with the costs of the normalization FST.
///
/// The FSTs come from compile-train-graphs; epsilons are removed. The results are the FSTs in the supervision for
/// end-to-end 'chain' training.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: compile-train-graphs --transition-scale=0.0 --self-loop-scale=0.0 tree 0.mdl L.fst \
    ark:text ark:- | chain-make-num-fst-e2e 0.mdl normalization.fst ark:- ark:num.fsts\n\
    See also: compile-train-graphs, nnet3-chain-e2e-get-egs"
)]
pub struct Options {
    model: String,
    #[arg(value_name = "<normalization-fst>")]
    normalization_fst: String,
    #[arg(value_name = "<transition-fsts-rspecifier>")]
    graphs: String,
    #[arg(value_name = "<pdf-fsts-wspecifier>")]
    fsts: String,
}

pub fn run(options: Options) -> Result<u8> {
    let transitions: TransitionModel = read_object(&options.model)?;
    let normalization = Normalization::new(read_fst(&options.normalization_fst)?, 1.0)
        .with_context(|| options.normalization_fst.clone())?;
    let output =
        tables::map::<FstHolder, FstHolder>(&options.graphs, &options.fsts, |_, graph| match normalization
            .training_graph(&graph, &transitions)?
        {
            Ok(fst) => Ok(Ok(fst)),
            Err(rejection) => tables::skip(rejection),
        })?;
    let (done, failed) = (output.done, output.failed);
    messages::log(&format!("Made {done} numerator FSTs, {failed} had errors."));
    output.finish()
}
