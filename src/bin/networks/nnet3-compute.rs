//! `nnet3-compute`: computes outputs of a network from features.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Parser;
use kaldi_cli::kaldi_log;
use kaldi_cli::log::{Site, num, ratio};
use nnet3::forward::{self, ForwardOptions, Tables, one_by_one};
use nnet3::options::forward::{compare_factor, looped};
use nnet3::options::threads;
use nnet3::training_log;
use nnet3_core::forward::GroupedForward;
use nnet3_core::graph::epochs::recurrent_nodes;

const SITE: Site = Site::main("nnet3-compute.cc", 1);

/// Propagate features through a raw neural network and write its output.
///
/// Similar chunks of several utterances are computed together. The results differ from separate computation only by
/// rounding. Outputs have the order of the features.
///
/// If --apply-exp=true, apply the exponential function to the output before writing it.
#[derive(Parser)]
#[command(
    after_help = "e.g.: nnet3-compute final.raw scp:feats.scp ark:nnet_prediction.ark\nSee also: nnet3-compute-batch, \
        nnet3-compute-from-egs"
)]
pub struct Options {
    /// Keep the network's state from chunk to chunk, as in online decoding: --frames-per-chunk new frames at a time, and
    /// all of the past as left context
    #[arg(long)]
    looped: bool,
    /// Threads that compute, each some of the utterances (not with --looped=true)
    #[arg(long, default_value_t = 1)]
    num_threads: i64,
    /// Size of outputs, in MiB for each thread, that may wait until their chunks are computed with chunks of other
    /// utterances. A larger size gives more chunks of equal length. Default: 2, or 4 if the network has a recurrence,
    /// whose steps are slow for few sequences
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    waiting_mb: Option<u32>,
    #[command(flatten)]
    forward: ForwardOptions,
    /// Network in test mode or not; it is used in test mode
    nnet_in: String,
    features_rspecifier: String,
    matrix_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let start = Instant::now();
    let num_threads = threads::number("num-threads", options.num_threads)?.get();
    if options.looped && num_threads != 1 {
        bail!("--num-threads={num_threads}: expected 1 with --looped=true");
    }
    let simple = &options.forward.simple;
    let tables = Tables { features: &options.features_rspecifier, outputs: &options.matrix_wspecifier };
    let device = options.forward.device.select(&options.forward.use_gpu)?;
    let (nnet, scaling) = options.forward.load(&options.nnet_in, &device)?;
    compare_factor(&options.nnet_in, simple.frame_subsampling_factor);
    let counts = if options.looped {
        let forward = looped(nnet, &device, &simple.streaming()?, scaling, &simple.optimization);
        let mut forward = forward.with_context(|| options.nnet_in.clone())?;
        simple.observe(forward.executor());
        let mut compute = one_by_one(|features, ivectors| forward.compute(features, ivectors));
        forward::compute(SITE, &options.forward.ivector, tables, &mut compute, &mut options.forward.finish())?
    } else {
        let (chunking, compiler) = (simple.chunking(&nnet)?, simple.compiler()?);
        let waiting_mb = options.waiting_mb.unwrap_or(if recurrent_nodes(&nnet).is_empty() { 2 } else { 4 });
        let forward = GroupedForward::new(&nnet, &device, chunking, scaling, compiler, num_threads);
        let mut forward = forward.with_context(|| options.nnet_in.clone())?;
        forward.let_wait((waiting_mb as usize) << 18);
        forward.executors().iter_mut().for_each(|executor| simple.observe(executor));
        let counts = forward::compute(
            SITE,
            &options.forward.ivector,
            tables,
            &mut forward,
            &mut options.forward.finish(),
        )?;
        training_log::compilation(forward.compiler());
        counts
    };
    let elapsed = start.elapsed().as_secs_f64();
    let factor = ratio(elapsed * 100.0, counts.frames as f64);
    kaldi_log!(SITE, "Time taken {}s: real-time factor assuming 100 frames/sec is {}", num(elapsed), factor);
    kaldi_log!(SITE, "Done {} utterances, failed for {}", counts.done, counts.failed);
    Ok(if counts.done > 0 { 0 } else { kaldi_cli::NOTHING_DONE })
}
