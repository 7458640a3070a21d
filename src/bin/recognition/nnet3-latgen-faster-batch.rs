//! `nnet3-latgen-faster-batch`: features → lattices; chunks of several utterances go through the network together.

use std::time::Instant;

use crate::recognition::decoders::{self, DecoderOptions, Results, Tables};
use crate::recognition::decoding::Timing;
use anyhow::{Context, Result};
use kaldi_io::log::Site;
use nnet3::forward::Together;
use nnet3::options::device::USE_GPU;
use nnet3::options::forward::{BatchComputeOptions, SimpleOptions};
use nnet3::options::threads;
use nnet3::training_log;
use nnet3_core::forward::BatchForward;

const SITE: Site = Site::main("nnet3-latgen-faster-batch.cc", 1);

/// Generate lattices using nnet3 neural net model; chunks of several utterances go through the network together, which is
/// made for GPUs.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-latgen-faster-batch --num-threads=8 --acoustic-scale=1.0 final.mdl HCLG.fst scp:feats.scp \
        ark:lat.ark\nSee also: nnet3-latgen-faster, nnet3-latgen-faster-parallel"
)]
pub struct Options {
    /// Number of threads that search. The network always has a separate thread
    #[arg(long, default_value_t = 1)]
    num_threads: i64,
    /// yes|no|optional|wait: whether the network runs on a GPU
    #[arg(long, default_value = "yes", value_parser = USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    batch: BatchComputeOptions,
    #[command(flatten)]
    decoder: DecoderOptions,
    #[command(flatten)]
    simple: SimpleOptions,
    nnet_in: String,
    fst_in: String,
    features_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { num_threads, use_gpu, batch, decoder, simple, .. } = &options;
    let start = Instant::now();
    let num_threads = threads::number("num-threads", *num_threads)?.get();
    let tables = Tables {
        nnet_in: options.nnet_in.clone(),
        fst_in: options.fst_in.clone(),
        features_rspecifier: options.features_rspecifier.clone(),
        results: Results {
            lattice_wspecifier: options.lattice_wspecifier.clone(),
            words_wspecifier: None,
            alignments_wspecifier: None,
        },
    };
    let (model, device) = decoder.load(&tables.nnet_in, use_gpu)?;
    let (chunking, compiler) = (simple.chunking(&model.nnet)?, simple.compiler()?);
    let scaling = model.scaling.clone();
    let forward = BatchForward::new(&model.nnet, &device, chunking, batch.options(), scaling, compiler);
    let mut forward = forward.with_context(|| tables.nnet_in.clone())?;
    simple.observe(forward.executor());
    let decoding = decoder.decoding(&model)?;
    let mut outputs = tables.results.open(SITE, &decoder.lattice)?;
    let network = (&mut forward, Together::Yes);
    decoders::decode(&tables, &decoding, &decoder.ivector, network, num_threads, &mut outputs)?;
    let frame_subsampling_factor = simple.frame_subsampling_factor;
    let timing = Timing { start, frame_subsampling_factor, threads: Some(num_threads) };
    let status = outputs.finish(&timing)?;
    training_log::minibatches(forward.stats());
    training_log::compilation(forward.compiler());
    Ok(status)
}
