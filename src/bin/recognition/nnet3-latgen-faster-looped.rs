//! `nnet3-latgen-faster-looped`: features → lattices; the network keeps its state from chunk to chunk.

use crate::recognition::decoders::{DecoderOptions, Tables};
use crate::recognition::latgen::Latgen;
use anyhow::Result;
use kaldi_cli::log::Site;
use nnet3::options::device::USE_GPU;
use nnet3::options::forward::LoopedOptions;

const SITE: Site = Site::main("nnet3-latgen-faster-looped.cc", 256);

/// Generate lattices using nnet3 neural net model; the network goes through utterances as if they came in live.
///
/// Chunks have no edges: recurrent state is carried over, so that the left context is all of the past.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-latgen-faster-looped --acoustic-scale=1.0 --frame-subsampling-factor=3 final.mdl HCLG.fst \
        scp:feats.scp ark:lat.ark"
)]
pub struct Options {
    /// yes|no|optional|wait: whether the network runs on a GPU
    #[arg(long, default_value = "no", value_parser = USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    decoder: DecoderOptions,
    #[command(flatten)]
    looped: LoopedOptions,
    #[command(flatten)]
    tables: Tables,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { use_gpu, decoder, looped, tables } = &options;
    Latgen { site: SITE, use_gpu, decoder }.looped(looped, None, tables)
}
