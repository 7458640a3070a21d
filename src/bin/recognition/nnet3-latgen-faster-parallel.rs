//! `nnet3-latgen-faster-parallel`: features → lattices, several utterances at a time.

use std::time::Instant;

use crate::recognition::decoders::{self, DecoderOptions, Tables};
use crate::recognition::decoding::Timing;
use anyhow::{Context, Result, bail};
use kaldi_io::log::Site;
use nnet3::options::device::USE_GPU;
use nnet3::options::forward::SimpleOptions;
use nnet3::options::threads;
use nnet3_core::forward::GroupedForward;

const SITE: Site = Site::main("nnet3-latgen-faster-parallel.cc", 256);

/// Utterances that may wait by default, besides one a thread.
const WAITING: usize = 20;

/// Generate lattices using nnet3 neural net model, several utterances at a time.
///
/// The lattices are the same as with nnet3-latgen-faster, in the order of the features.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-latgen-faster-parallel --num-threads=8 --acoustic-scale=1.0 final.mdl HCLG.fst \
        scp:feats.scp ark:lat.ark"
)]
pub struct Options {
    /// Number of threads that decode, each an utterance at a time
    #[arg(long, default_value_t = 1)]
    num_threads: i64,
    /// Most utterances that are on their way: being decoded, or waiting to be or to be written. 0: 20 more than there are
    /// threads
    #[arg(long, default_value_t = 0)]
    num_threads_total: usize,
    /// yes|no|optional|wait: whether the network runs on a GPU
    #[arg(long, default_value = "no", value_parser = USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    decoder: DecoderOptions,
    #[command(flatten)]
    simple: SimpleOptions,
    #[command(flatten)]
    tables: Tables,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { num_threads: threads, num_threads_total, use_gpu, decoder, simple, tables } = &options;
    let start = Instant::now();
    let threads = threads::number("num-threads", *threads)?.get();
    let most = match *num_threads_total {
        0 => threads + WAITING,
        most if most >= threads => most,
        most => bail!("--num-threads-total={most}: expected at least --num-threads={threads}, or 0"),
    };
    let (model, device) = decoder.load(&tables.nnet_in, use_gpu)?;
    let mut forwards = Vec::new();
    for _ in 0..threads {
        let (chunking, compiler) = (simple.chunking(&model.nnet)?, simple.compiler()?);
        let forward = GroupedForward::new(&model.nnet, &device, chunking, model.scaling.clone(), compiler, 1);
        let mut forward = forward.with_context(|| tables.nnet_in.clone())?;
        forward.executors().iter_mut().for_each(|executor| simple.observe(executor));
        forwards.push(forward);
    }
    let decoding = decoder.decoding(&model)?;
    let mut outputs = tables.results.open(SITE, &decoder.lattice)?;
    decoders::decode_in_parallel(tables, &decoding, &decoder.ivector, &mut forwards, most, &mut outputs)?;
    let frame_subsampling_factor = simple.frame_subsampling_factor;
    outputs.finish(&Timing { start, frame_subsampling_factor, threads: Some(threads) })
}
