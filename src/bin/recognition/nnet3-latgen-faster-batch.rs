//! `nnet3-latgen-faster-batch`: features → lattices; chunks of several utterances go through the network together.

use crate::recognition::decoders::{DecoderOptions, Results, Tables};
use crate::recognition::latgen::Latgen;
use anyhow::Result;
use kaldi_cli::log::Site;
use nnet3::options::device::USE_GPU;
use nnet3::options::forward::{BatchComputeOptions, SimpleOptions};
use nnet3::options::threads;

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
    let threads = threads::number("num-threads", *num_threads)?.get();
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
    Latgen { site: SITE, use_gpu, decoder }.batches(simple, batch, threads, &tables)
}
