//! `nnet3-compute-batch`: computes outputs of a network from features, with chunks of several utterances together.

use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use kaldi_cli::kaldi_log;
use kaldi_cli::log::{Site, num};
use nnet3::forward::{self, ForwardOptions, Tables};
use nnet3::options::forward::{BatchComputeOptions, compare_factor};
use nnet3::training_log;
use nnet3_core::forward::BatchForward;

const SITE: Site = Site::main("nnet3-compute-batch.cc", 1);

/// Propagate features through a raw neural network and write its output, many chunks at a time.
///
/// All chunks of utterances are equally long: the last one begins earlier, and an utterance shorter than a chunk is
/// continued with its last frame. With recurrent networks the output therefore may differ from nnet3-compute's. If
/// --apply-exp=true, apply the exponential function to the output before writing it.
#[derive(Parser)]
#[command(
    after_help = "e.g.: nnet3-compute-batch final.raw scp:feats.scp ark:nnet_prediction.ark\nSee also: nnet3-compute"
)]
pub struct Options {
    #[command(flatten)]
    batch: BatchComputeOptions,
    #[command(flatten)]
    forward: ForwardOptions,
    /// Network in test mode or not; it is used in test mode
    nnet_in: String,
    features_rspecifier: String,
    matrix_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let start = Instant::now();
    let simple = &options.forward.simple;
    let tables = Tables { features: &options.features_rspecifier, outputs: &options.matrix_wspecifier };
    let device = options.forward.device.select(&options.forward.use_gpu)?;
    let (nnet, scaling) = options.forward.load(&options.nnet_in, &device)?;
    compare_factor(&options.nnet_in, simple.frame_subsampling_factor);
    let (chunking, compiler) = (simple.chunking(&nnet)?, simple.compiler()?);
    let forward = BatchForward::new(&nnet, &device, chunking, options.batch.options(), scaling, compiler);
    let mut forward = forward.with_context(|| options.nnet_in.clone())?;
    simple.observe(forward.executor());
    let counts = forward::compute(
        SITE,
        &options.forward.ivector,
        tables,
        &mut forward,
        &mut options.forward.finish(),
    )?;
    training_log::minibatches(forward.stats());
    training_log::compilation(forward.compiler());
    kaldi_log!(SITE, "Time taken {}s", num(start.elapsed().as_secs_f64()));
    kaldi_log!(SITE, "Done {} utterances, failed for {}", counts.done, counts.failed);
    Ok(if counts.done > 0 { 0 } else { kaldi_cli::NOTHING_DONE })
}
