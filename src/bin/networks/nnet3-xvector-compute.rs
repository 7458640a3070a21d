//! `nnet3-xvector-compute`: a vector for each utterance, from the outputs of a network for its chunks.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use kaldi_cli::log::{Site, num, ratio};
use kaldi_cli::{Group, kaldi_log, kaldi_warn};
use kaldi_io::holder::VectorHolder;
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3::forward::{self, one_by_one};
use nnet3::options::compute::{CachingOptions, ComputationOptions, OptimizationOptions};
use nnet3::options::device::{DeviceOptions, USE_GPU};
use nnet3::options::forward::IvectorReader;
use nnet3::options::unprefixed::Unprefixed;
use nnet3::training_log;
use nnet3_core::forward::xvector::{XvectorForward, XvectorOptions};
use nnet3_matrix::WeightForm;

use super::compiler;

const SITE: Site = Site::main("nnet3-xvector-compute.cc", 1);

/// Propagate features through an x-vector neural network model and write the output vectors.
///
/// "Output vectors" are the network's output 'output' at time 0, averaged over the chunks of an utterance and weighed
/// by their lengths. By default an utterance is one chunk.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: nnet3-xvector-compute --chunk-size=10000 --min-chunk-size=25 \"nnet3-copy \
        --nnet-config=extract.config final.raw - |\" scp:feats.scp ark:xvectors.ark\nSee also: nnet3-xvector-compute-batched")]
pub struct Options {
    /// Frames of a chunk; -1: chunks have the lengths of utterances
    #[arg(long, default_value_t = -1, allow_negative_numbers = true)]
    chunk_size: i32,
    /// Chunks with fewer frames are padded, or left out (see --pad-input)
    #[arg(long, default_value_t = 100)]
    min_chunk_size: u32,
    /// If true, chunks with fewer than --min-chunk-size frames are padded with their first and last frames. If false,
    /// they are left out, and so are utterances that are so short
    #[arg(long, default_value_t = true)]
    pad_input: bool,
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "no", value_parser = USE_GPU)]
    use_gpu: String,
    /// If set, read the cached compiled computations from this file
    #[arg(long, default_value = "")]
    cached_compiler_in: String,
    /// If set, write the cached compiled computations to this file
    #[arg(long, default_value = "")]
    cached_compiler_out: String,
    #[command(flatten)]
    caching: Unprefixed<CachingOptions>,
    #[command(flatten)]
    optimization: Group<OptimizationOptions>,
    #[command(flatten)]
    computation: ComputationOptions,
    #[command(flatten)]
    ignored: Ignored,
    #[command(flatten)]
    device: DeviceOptions,
    /// Network; it is used in test mode
    raw_nnet_in: String,
    features_rspecifier: String,
    vector_wspecifier: String,
}

// Options that Kaldi's program takes and does not use.
#[derive(Args)]
struct Ignored {
    /// Only for compatibility: no effect
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Only for compatibility: no effect
    #[arg(long, default_value_t = 0)]
    extra_left_context: i32,
    /// Only for compatibility: no effect
    #[arg(long, default_value_t = 0)]
    extra_right_context: i32,
    /// Only for compatibility: no effect
    #[arg(long, default_value_t = -1, allow_negative_numbers = true)]
    extra_left_context_initial: i32,
    /// Only for compatibility: no effect
    #[arg(long, default_value_t = -1, allow_negative_numbers = true)]
    extra_right_context_final: i32,
    /// Only for compatibility: no effect
    #[arg(long, default_value_t = 1)]
    frame_subsampling_factor: i32,
    /// Only for compatibility: no effect
    #[arg(long, default_value_t = 50)]
    frames_per_chunk: i32,
    /// Only for compatibility: no effect
    #[arg(long)]
    debug_computation: bool,
}

pub fn run(options: Options) -> Result<u8> {
    let start = Instant::now();
    let chunk_size = match options.chunk_size {
        -1 => None,
        size if size > 0 => Some(size as usize),
        size => bail!("--chunk-size={size}: expected -1 or a number of frames above 0"),
    };
    let xvector = XvectorOptions {
        chunk_size,
        min_chunk_size: options.min_chunk_size as usize,
        pad_input: options.pad_input,
    };
    if !options.cached_compiler_out.is_empty() {
        KaldiWriter::check(&options.cached_compiler_out)?;
    }
    let device = options.device.select(&options.use_gpu)?;
    let nnet = forward::load_to_run(&options.raw_nnet_in, &device, WeightForm::Float)?;
    let compiler = compiler::new(&options.optimization, &options.caching.0);
    let forward = XvectorForward::new(&nnet, &device, xvector, compiler);
    let mut forward = forward.with_context(|| options.raw_nnet_in.clone())?;
    options.computation.observe(forward.executor());
    if !options.cached_compiler_in.is_empty() {
        let mut reader = KaldiReader::open(&options.cached_compiler_in)?;
        forward
            .compiler()
            .read_cache(&nnet, &mut reader)
            .with_context(|| options.cached_compiler_in.clone())?;
        reader.close()?;
    }
    let least = xvector.min_chunk_size;
    let counts = forward::compute_into::<VectorHolder>(
        SITE,
        &mut IvectorReader::None,
        forward::Tables { features: &options.features_rspecifier, outputs: &options.vector_wspecifier },
        &mut one_by_one(|features, _| forward.compute(features)),
        |key, frames, vector| {
            if vector.rows == 0 && frames < least {
                kaldi_warn!(
                    SITE,
                    "Minimum chunk size of {least} is greater than the number of rows in utterance: {key}"
                );
                return Ok(None);
            }
            if let Some(size) = chunk_size.filter(|&size| size > frames) {
                kaldi_log!(
                    SITE,
                    "Chunk size of {size} is greater than the number of rows in utterance: {key}, using chunk size  of {frames}"
                );
            }
            if vector.rows == 0 {
                kaldi_warn!(SITE, "{key}: all chunks have fewer than --min-chunk-size={least} frames");
                return Ok(None);
            }
            Ok(Some(vector.data))
        },
    )?;
    let elapsed = start.elapsed().as_secs_f64();
    let factor = ratio(elapsed * 100.0, counts.frames as f64);
    kaldi_log!(SITE, "Time taken {}s: real-time factor assuming 100 frames/sec is {}", num(elapsed), factor);
    kaldi_log!(SITE, "Done {} utterances, failed for {}", counts.done, counts.failed);
    training_log::compilation(forward.compiler());
    if !options.cached_compiler_out.is_empty() {
        let mut writer = KaldiWriter::create(&options.cached_compiler_out, true)?;
        forward.compiler().write_cache(&mut writer)?;
        writer.finish()?;
    }
    Ok(if counts.done > 0 { 0 } else { kaldi_cli::NOTHING_DONE })
}
