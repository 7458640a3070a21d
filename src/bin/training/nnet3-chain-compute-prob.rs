//! `nnet3-chain-compute-prob`: the objective of lattice-free MMI on examples.

use std::sync::Arc;

use anyhow::Result;
use kaldi_io::log::Site;
use nnet3::json::{self, FormatOption};
use nnet3::options::chain::ChainTrainingOptions;
use nnet3::options::prob::ComputeProbOptions;
use nnet3::{chain, egs, models, progress, training_log};
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
    /// If true, set test-mode to true on any BatchNormComponents.
    #[arg(long, default_value_t = true)]
    batchnorm_test_mode: bool,
    /// If true, set test-mode to true on any DropoutComponents and DropoutMaskComponents.
    #[arg(long, default_value_t = true)]
    dropout_test_mode: bool,
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
    if options.batchnorm_test_mode {
        nnet.set_batchnorm_test_mode(true);
    }
    if options.dropout_test_mode {
        nnet.set_dropout_test_mode(true);
    }
    let denominator = Denominators::One(Arc::new(chain::read_denominator(&options.denominator_fst, &nnet)?));
    let objective = chain::objective(&chain_options, &denominator);
    let mut computer = ProbComputer::with_objective(objective, nnet, prob_options, &nnet3_matrix::cpu());
    let mut egs = egs.finish()?;
    if egs.at_end()? {
        return egs::nothing(&SITE, egs);
    }
    let bar = progress::counter("examples", egs.name());
    while let Some((_, example)) = egs.next()? {
        computer.compute(&example).map_err(|e| egs.blame(e))?;
        training_log::remarks(&mut computer);
        bar.inc();
    }
    drop(bar);
    egs.close()?;
    let useful = chain::totals(&mut computer);
    if options.format.is_json() {
        json::print(&json::chain_objectives(&computer))?;
    }
    training_log::compilation(computer.runner().compiler());
    Ok(u8::from(!useful))
}
