//! `nnet3-latgen-faster-looped`: features → lattices; the network keeps its state from chunk to chunk.

use std::time::Instant;

use crate::recognition::decoders::{self, DecoderOptions, Tables};
use crate::recognition::decoding::Timing;
use anyhow::{Context, Result};
use kaldi_io::log::Site;
use nnet3::forward::{Together, one_by_one};
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
    let start = Instant::now();
    let (model, device) = decoder.load(&tables.nnet_in, use_gpu)?;
    let forward = looped.forward(model.nnet.clone(), &device, model.scaling.clone());
    let mut forward = forward.with_context(|| tables.nnet_in.clone())?;
    let mut compute = one_by_one(|features, ivectors| forward.compute(features, ivectors));
    let decoding = decoder.decoding(&model)?;
    let mut outputs = tables.results.open(SITE, &decoder.lattice)?;
    let network = (&mut compute, Together::No);
    decoders::decode(tables, &decoding, &decoder.ivector, network, 1, &mut outputs)?;
    let frame_subsampling_factor = looped.network.frame_subsampling_factor;
    outputs.finish(&Timing { start, frame_subsampling_factor, threads: None })
}
