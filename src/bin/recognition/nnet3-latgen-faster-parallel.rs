//! `nnet3-latgen-faster-parallel`: features → lattices, several utterances at a time.

use crate::recognition::decoders::{DecoderOptions, Tables};
use crate::recognition::latgen::Latgen;
use crate::recognition::mapped::Threads;
use anyhow::{Result, bail};
use kaldi_cli::log::Site;
use nnet3::options::device::USE_GPU;
use nnet3::options::forward::SimpleOptions;
use nnet3::options::threads;

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
    let Options { num_threads, num_threads_total, use_gpu, decoder, simple, tables } = &options;
    let count = threads::number("num-threads", *num_threads)?.get();
    let most = match *num_threads_total {
        0 => count + WAITING,
        most if most >= count => most,
        most => bail!("--num-threads-total={most}: expected at least --num-threads={count}, or 0"),
    };
    Latgen { site: SITE, use_gpu, decoder }.wholes_in_parallel(simple, Threads { count, most }, tables)
}
