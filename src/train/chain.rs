//! Parts shared by the programs that train and evaluate chain models.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use kaldi_cli::kaldi_log;
use kaldi_cli::log::sites::PROB_OBJECTIVE;
use kaldi_cli::log::{self, Site, num};
use nnet3_chain::training::{ChainTraining, ChainTrainingOptions, Denominators};
use nnet3_chain::{ChainOptions, DenominatorGraph, NnetChainExample, NnetChainSupervision};
use nnet3_core::nnet::Nnet;
use nnet3_train::diagnostics::ProbComputer;
use nnet3_train::sequence::XENT_SUFFIX;

use crate::combination::Combination;
use crate::egs::{self, Prepare};
use crate::options::chain::ChainTrainingOptions as ChainArgs;
use crate::options::combine::CombineArgs;
use crate::options::training;
use crate::training::{Program, Sites};
use crate::training_log::TrainingLines;
use crate::{models, training_log};

const OUTPUT: &str = "output";
/// The value of the option for statistics of a network with cross-entropy outputs, where none is given.
const XENT_REGULARIZE: f32 = 0.1;

// Options of the programs that train.
#[derive(clap::Args, Clone, Debug)]
pub struct ChainTrainArgs {
    /// If true, apply the per-frame derivative weights stored with the example
    #[arg(long, default_value_t = true)]
    pub apply_deriv_weights: bool,
    #[command(flatten)]
    pub common: training::TrainArgs,
    #[command(flatten)]
    pub chain: ChainArgs,
}

/// Names of files on a command line of a training program.
pub struct Files<'f> {
    pub model: &'f str,
    /// A denominator FST, or a folder with one for each language.
    pub denominator: &'f str,
    pub examples: &'f str,
    pub output: &'f str,
}

/// Single-language or multi-language examples.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Languages {
    One,
    Several,
}

impl Languages {
    /// Returns the preparation of examples before their use.
    fn prepare(self) -> Prepare<NnetChainExample> {
        match self {
            Languages::One => egs::as_they_are,
            Languages::Several => nnet3_chain::language::name_outputs,
        }
    }

    fn denominators(self, file: &str, nnet: &Nnet) -> Result<Denominators> {
        match self {
            Languages::One => Ok(Denominators::One(Arc::new(read_denominator(file, nnet)?))),
            Languages::Several if Path::new(file).is_dir() => Ok(Denominators::Folder(PathBuf::from(file))),
            Languages::Several => {
                bail!("{file}: expected a folder with a file LANGUAGE.den.fst for each language")
            }
        }
    }
}

/// The denominator graph for the `output` of a network.
pub fn read_denominator(rxfilename: &str, nnet: &Nnet) -> Result<DenominatorGraph> {
    let Some(output) = nnet.find_output(OUTPUT) else { bail!("the network has no output '{OUTPUT}'") };
    let fst = kaldi_fst::read_fst(rxfilename)?;
    DenominatorGraph::new(&fst, nnet.node_dim(output)).with_context(|| rxfilename.to_owned())
}

/// The one output of an example, which is called `output`.
pub fn only_output(example: &NnetChainExample) -> nnet3_train::Result<&NnetChainSupervision> {
    match &example.outputs[..] {
        [output] if output.name == OUTPUT => Ok(output),
        _ => Err(nnet3_train::Error::data(format!("expected the example to have one output, '{OUTPUT}'"))),
    }
}

/// The whole of a program that trains.
pub fn train(sites: Sites, languages: Languages, options: ChainTrainArgs, files: Files<'_>) -> Result<u8> {
    let chain = ChainTrainingOptions {
        chain: options.chain.chain_options()?,
        apply_deriv_weights: options.apply_deriv_weights,
        verbose: log::verbose() >= 1,
    };
    let program = Program {
        sites,
        args: options.common,
        examples: files.examples,
        output: files.output,
        prepare: languages.prepare(),
        lines: TrainingLines::default(),
    };
    program.run(|| {
        let nnet = models::load(files.model)?;
        let denominators = languages.denominators(files.denominator, &nnet)?;
        Ok((nnet, Arc::new(move || ChainTraining::new(chain.clone(), denominators.clone()))))
    })
}

/// Returns an objective for evaluation without derivatives.
pub fn objective(chain: &ChainOptions, denominators: &Denominators) -> ChainTraining {
    let options = ChainTrainingOptions {
        chain: chain.clone(),
        apply_deriv_weights: false,
        verbose: log::verbose() >= 1,
    };
    ChainTraining::new(options, denominators.clone())
}

/// Logs the objectives of a network; returns false if no output had any weight.
pub fn totals(computer: &mut ProbComputer<ChainTraining>) -> bool {
    training_log::remarks(computer);
    let useful = training_log::prob_totals(computer);
    let lwf = computer.objective().learned_without_forgetting();
    if lwf.weight != 0.0 {
        let (total, average) = (num(lwf.objective), num(lwf.average()));
        kaldi_log!(PROB_OBJECTIVE, "Total LWF is {total} and it is {average} per frame.");
    }
    useful
}

/// The whole of a program that combines models: `arguments` are the models, the newest first, the examples and the file
/// to write.
pub fn combine(
    site: Site,
    languages: Languages,
    options: &CombineArgs,
    chain: &ChainArgs,
    denominator: &str,
    arguments: Vec<String>,
) -> Result<u8> {
    let chain = chain.chain_options()?;
    let newest = models::load(&arguments[0])?;
    let denominators = languages.denominators(denominator, &newest)?;
    let recomputing = |nnet: &Nnet| {
        let mut chain = chain.clone();
        let mut outputs = nnet.output_nodes().map(|id| nnet.node_name(id));
        if chain.xent_regularize == 0.0 && outputs.any(|name| name.contains(XENT_SUFFIX)) {
            chain.xent_regularize = XENT_REGULARIZE;
        }
        objective(&chain, &denominators)
    };
    let combination = Combination { site, options, arguments, prepare: languages.prepare() };
    let evaluating = || objective(&chain, &denominators);
    combination.run(evaluating, recomputing, |computer| _ = totals(computer))
}
