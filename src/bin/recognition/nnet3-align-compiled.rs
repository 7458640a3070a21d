//! `nnet3-align-compiled`: features and graphs of transcripts → alignments; the network runs beside the search.

use crate::recognition::aligning::{AlignOptions, AlignedTables, Aligner};
use anyhow::{Context, Result, bail};
use kaldi_cli::log::Site;
use nnet3::forward::{self, Output, Together};
use nnet3::options::device::{DeviceOptions, USE_GPU};
use nnet3::options::forward::{IvectorOptions, SimpleOptions, compare_factor};
use nnet3::training_log;
use nnet3::utterances::Utterances;
use nnet3::workers::side_by_side;
use nnet3_core::forward::GroupedForward;
use nnet3_matrix::WeightForm;

const SITE: Site = Site::main("nnet3-align-compiled.cc", 201);

/// Utterances that may wait between network and search.
const WAITING: usize = 2;

/// Align features given nnet3 neural net model
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-align-compiled 1.mdl ark:graphs.fsts scp:train.scp ark:1.ali\nor: compile-train-graphs tree \
        1.mdl lex.fst ark:train.tra ark:- | nnet3-align-compiled 1.mdl ark:- scp:train.scp ark,t:1.ali"
)]
pub struct Options {
    /// Scaling factor for acoustic log-likelihoods
    #[arg(long, default_value_t = 0.1)]
    acoustic_scale: f32,
    /// yes|no|optional|wait: whether the network runs on a GPU
    #[arg(long, default_value = "yes", value_parser = USE_GPU)]
    use_gpu: String,
    /// Table of vectors: the acoustic log-likelihood of each frame of the alignment
    #[arg(long, default_value = "")]
    write_per_frame_acoustic_loglikes: String,
    #[command(flatten)]
    align: AlignOptions,
    #[command(flatten)]
    simple: SimpleOptions,
    #[command(flatten)]
    ivector: IvectorOptions,
    #[command(flatten)]
    device: DeviceOptions,
    nnet_in: String,
    graphs_rspecifier: String,
    features_rspecifier: String,
    alignments_wspecifier: String,
    scores_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { acoustic_scale, align, simple, nnet_in, .. } = &options;
    let device = options.device.select(&options.use_gpu)?;
    let model = forward::load_acoustic_network(nnet_in, &device, *acoustic_scale, WeightForm::Float)?;
    compare_factor(nnet_in, simple.frame_subsampling_factor);
    let (chunking, compiler) = (simple.chunking(&model.nnet)?, simple.compiler()?);
    let forward = GroupedForward::new(&model.nnet, &device, chunking, model.scaling.clone(), compiler, 1);
    let mut forward = forward.with_context(|| nnet_in.clone())?;
    forward.executors().iter_mut().for_each(|executor| simple.observe(executor));
    let tables = AlignedTables {
        alignments: &options.alignments_wspecifier,
        scores: options.scores_wspecifier.as_ref(),
        frames: Some(&options.write_per_frame_acoustic_loglikes).filter(|name| !name.is_empty()),
    };
    let mut aligner = Aligner::open(SITE, align, &model.transitions, *acoustic_scale, &tables)?;
    let (graphs, features) = (&options.graphs_rspecifier, &options.features_rspecifier);
    let missing = |key: &str| format!("No features for utterance {key}");
    let utterances = Utterances::of_graphs(graphs, features, missing)?;
    let mut ivectors = options.ivector.open()?;
    let network = &mut forward;
    side_by_side(
        WAITING,
        |give| forward::outputs(utterances, &mut ivectors, network, Together::No, |output| Ok(give(output))),
        |Output { key, graph, output, .. }| match (graph, output) {
            (Some(graph), Ok(loglikes)) => aligner.align(&key, graph, loglikes, 1.0),
            (None, _) => bail!("no graph for utterance {key}"),
            (_, Err(skip)) => {
                aligner.fail(&skip.sentence(&key));
                Ok(())
            }
        },
    )?;
    let status = aligner.finish()?;
    training_log::compilation(forward.compiler());
    Ok(status)
}
