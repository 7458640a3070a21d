//! `chain-make-den-fst`: the denominator graph of a phone language model, and the normalization FST.

use anyhow::{Context, Result};
use kaldi_cli::log::Site;
use kaldi_cli::{kaldi_log, kaldi_warn};
use kaldi_fst::store::write_fst;
use kaldi_fst::{Fst, read_fst};
use kaldi_hmm::{ContextDependency, TransitionModel};
use kaldi_io::read_object;
use nnet3_chain::PhoneModel;
use nnet3_chain::denominator::{make_denominator_fst, make_normalization_fst, missing_pdfs};

const fn site(function: &'static str, line: u32) -> Site {
    Site::new(function, "chain-den-graph.cc", line)
}

/// Created 'denominator' FST for 'chain' training.
///
/// Outputs in FST format. <denominator-fst-out> is the denominator graph in training. The normalization FST has initial
/// and final probabilities, so any part of an utterance can be composed with it.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: chain-make-den-fst dir/tree dir/0.trans_mdl dir/phone_lm.fst dir/den.fst \
    dir/normalization.fst\nSee also: chain-est-phone-lm, nnet3-chain-get-egs")]
pub struct Options {
    tree: String,
    #[arg(value_name = "<transition-model>")]
    transition_model: String,
    #[arg(value_name = "<phone-lm-fst>")]
    phone_lm: String,
    #[arg(value_name = "<denominator-fst-out>")]
    denominator: String,
    #[arg(value_name = "<normalization-fst-out>")]
    normalization: String,
}

fn log_sizes(what: &str, fst: &Fst) {
    let (states, arcs) = (fst.states.len(), fst.num_arcs());
    kaldi_log!(
        site("CreateDenominatorFst", 306),
        "Number of states and arcs in {what} is {states} and {arcs}"
    );
}

pub fn run(options: Options) -> Result<u8> {
    let tree: ContextDependency = read_object(&options.tree)?;
    let transitions: TransitionModel = read_object(&options.transition_model)?;
    let model = PhoneModel::new(&tree, &transitions)
        .with_context(|| format!("{} and {}", options.tree, options.transition_model))?;
    let phone_lm = read_fst(&options.phone_lm)?;
    let denominator =
        make_denominator_fst(model, phone_lm, &mut log_sizes).with_context(|| options.phone_lm.clone())?;
    for pdf in missing_pdfs(&denominator, transitions.num_pdfs()) {
        kaldi_warn!(site("CheckDenominatorFst", 254), "Pdf-id {pdf} is not seen in denominator graph.");
    }
    let normalization = make_normalization_fst(&denominator).with_context(|| options.phone_lm.clone())?;
    write_fst(&options.denominator, &denominator)?;
    write_fst(&options.normalization, &normalization)?;
    kaldi_log!(
        Site::main("chain-make-den-fst.cc", 78),
        "Write denominator FST to {} and normalization FST to {}",
        options.denominator,
        options.normalization
    );
    Ok(0)
}
