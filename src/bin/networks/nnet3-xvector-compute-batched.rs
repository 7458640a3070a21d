//! `nnet3-xvector-compute-batched`: a vector for each utterance, with chunks of several utterances together.

use std::time::Instant;

use anyhow::{Context, Result};
use kaldi_cli::log::{Site, num, ratio};
use kaldi_cli::{Group, kaldi_log, kaldi_warn};
use kaldi_io::holder::VectorHolder;
use nnet3::forward;
use nnet3::options::compute::{CachingOptions, ComputationOptions, OptimizationOptions};
use nnet3::options::device::{DeviceOptions, USE_GPU};
use nnet3::options::forward::IvectorReader;
use nnet3::options::unprefixed::Unprefixed;
use nnet3::training_log;
use nnet3_core::forward::xvector::{BatchedOptions, BatchedXvectors};
use nnet3_matrix::WeightForm;

use super::compiler;

const SITE: Site = Site::main("nnet3-xvector-compute-batched.cc", 1);

/// Propagate features through an x-vector neural network model and write the output vectors, many chunks at a time.
///
/// All chunks have one length. They may overlap, or leave out some frames of an utterance. A vector is the mean of the
/// network's output 'output' at time 0 for the chunks of an utterance.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: nnet3-xvector-compute-batched --chunk-size=200 final.raw scp:feats.scp ark:xvectors.ark\nSee also: \
        nnet3-xvector-compute"
)]
pub struct Options {
    /// Size of chunk, in input frames. Includes the nnet context, so the number of chunks will be more than
    /// total-input-frames / chunk-size.
    #[arg(long, default_value_t = 150)]
    chunk_size: u32,
    /// Size of the batches of chunks that we compute at once.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    batch_size: u32,
    /// If true, for utterances shorter than chunk-size frames we will pad with repeats of the last frame. If false, their
    /// vectors are zero
    #[arg(long, default_value_t = true)]
    pad_input: bool,
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "no", value_parser = USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    caching: Unprefixed<CachingOptions>,
    #[command(flatten)]
    optimization: Unprefixed<Group<OptimizationOptions>>,
    #[command(flatten)]
    computation: Unprefixed<ComputationOptions>,
    #[command(flatten)]
    device: DeviceOptions,
    /// Network; it is used in test mode
    raw_nnet_in: String,
    features_rspecifier: String,
    vector_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let start = Instant::now();
    let batched = BatchedOptions {
        chunk_size: options.chunk_size as usize,
        batch_size: options.batch_size as usize,
        pad_input: options.pad_input,
    };
    let device = options.device.select(&options.use_gpu)?;
    let nnet = forward::load_to_run(&options.raw_nnet_in, &device, WeightForm::Float)?;
    let compiler = compiler::new(&options.optimization.0, &options.caching.0);
    let forward = BatchedXvectors::new(&nnet, &device, batched, compiler);
    let mut forward = forward.with_context(|| options.raw_nnet_in.clone())?;
    options.computation.0.observe(forward.executor());
    let (left, right) = forward.context();
    kaldi_log!(SITE, "Left/right context is {left}, {right}");
    let counts = forward::compute_into::<VectorHolder>(
        SITE,
        &mut IvectorReader::None,
        forward::Tables { features: &options.features_rspecifier, outputs: &options.vector_wspecifier },
        &mut forward,
        |key, frames, vector| {
            if frames < batched.chunk_size && !batched.pad_input {
                kaldi_warn!(
                    SITE,
                    "{key}: {frames} frames are fewer than --chunk-size={}; the vector is zero",
                    batched.chunk_size
                );
            }
            Ok(Some(vector.data))
        },
    )?;
    training_log::compilation(forward.compiler());
    let elapsed = start.elapsed().as_secs_f64();
    let factor = ratio(elapsed * 100.0, counts.frames as f64);
    kaldi_log!(SITE, "Time taken {}s: real-time factor assuming 100 frames/sec is {}", num(elapsed), factor);
    let read = counts.done + counts.failed;
    kaldi_log!(SITE, "Read {read} utterances, wrote {} xvectors.", counts.done);
    Ok(if counts.done > read / 2 { 0 } else { kaldi_cli::NOTHING_DONE })
}
