//! `nnet3-chain-compute-prob`: the objective of lattice-free MMI on examples.

use std::sync::Arc;

use anyhow::Result;
use kaldi_cli::log::Site;
use nnet3::evaluation::{self, TestMode};
use nnet3::json::{self, FormatOption};
use nnet3::options::chain::ChainTrainingOptions;
use nnet3::options::prob::ComputeProbOptions;
use nnet3::{chain, egs, models};
use nnet3_chain::NnetChainExample;
use nnet3_chain::training::Denominators;
use nnet3_train::diagnostics::ProbComputer;

const SITE: Site = Site::main("nnet3-chain-compute-prob.cc", 111);

/// Computes and prints in logging messages the average log-prob per frame of the given data with an nnet3+chain neural net.
///
/// The input of this is the output of e.g. nnet3-chain-merge-egs. With --xent-regularize the cross-entropy output
/// 'output-xent' is evaluated too. There is no accuracy: --compute-accuracy has no effect.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-chain-compute-prob 0.mdl den.fst ark:valid.cegs")]
pub struct Options {
    #[command(flatten)]
    mode: TestMode,
    #[command(flatten)]
    format: FormatOption,
    #[command(flatten)]
    prob: ComputeProbOptions,
    #[command(flatten)]
    chain: ChainTrainingOptions,
    raw_nnet3_model_in: String,
    denominator_fst: String,
    training_examples_in: String,
}

pub fn run(options: Options) -> Result<u8> {
    let prob_options = options.prob.prob_options()?;
    let chain_options = options.chain.chain_options()?;
    let egs = egs::begin::<NnetChainExample>(&options.training_examples_in);
    let mut nnet = models::load(&options.raw_nnet3_model_in)?;
    options.mode.apply(&mut nnet);
    let denominator = Denominators::One(Arc::new(chain::read_denominator(&options.denominator_fst, &nnet)?));
    let objective = chain::objective(&chain_options, &denominator);
    let computer = ProbComputer::with_objective(objective, nnet, prob_options, &nnet3_matrix::cpu());
    evaluation::run(&SITE, egs, computer, |computer| {
        let useful = chain::totals(computer);
        if options.format.is_json() {
            json::print(&json::chain_objectives(computer))?;
        }
        Ok(useful)
    })
}
