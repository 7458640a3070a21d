//! `nnet3-latgen-faster-looped-parallel`: features → lattices, several utterances at a time; the network keeps its state from chunk to chunk.

use std::time::Instant;

use crate::recognition::decoders::{self, DecoderOptions, Tables};
use crate::recognition::decoding::Timing;
use crate::recognition::mapped::ThreadArgs;
use anyhow::{Context, Result};
use kaldi_io::log::Site;
use nnet3::forward::one_by_one;
use nnet3::options::device::USE_GPU;
use nnet3::options::forward::LoopedOptions;
use nnet3_core::forward::LoopedForward;

const SITE: Site = Site::main("nnet3-latgen-faster-looped-parallel.cc", 256);

/// Generate lattices using nnet3 neural net model; the network goes through utterances as if they came in live.
///
/// The lattices are those of nnet3-latgen-faster-looped, in the order of the features. Chunks have no edges: recurrent state is carried over, so that the left context is all of the past.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-latgen-faster-looped-parallel --num-threads=4 --acoustic-scale=1.0 --frame-subsampling-factor=3 final.mdl HCLG.fst \
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
    threads: ThreadArgs,
    #[command(flatten)]
    tables: Tables,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { use_gpu, decoder, looped, threads, tables } = &options;
    let start = Instant::now();
    let (count, most) = threads.numbers()?;
    let (model, device) = decoder.load(&tables.nnet_in, use_gpu)?;
    let forward = looped.forward(model.nnet.clone(), &device, model.scaling.clone());
    let forward = forward.with_context(|| tables.nnet_in.clone())?;
    let mut forwards: Vec<_> = (1..count).map(|_| looped.another(&forward)).collect();
    forwards.push(forward);
    let each = |mut forward: LoopedForward| {
        one_by_one(move |features, ivectors| forward.compute(features, ivectors))
    };
    let mut computes: Vec<_> = forwards.into_iter().map(each).collect();
    let decoding = decoder.decoding(&model)?;
    let mut outputs = tables.results.open(SITE, &decoder.lattice)?;
    decoders::decode_in_parallel(tables, &decoding, &decoder.ivector, &mut computes, most, &mut outputs)?;
    let frame_subsampling_factor = looped.network.frame_subsampling_factor;
    outputs.finish(&Timing { start, frame_subsampling_factor, threads: Some(count) })
}
