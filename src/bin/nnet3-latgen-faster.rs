//! `nnet3-latgen-faster`: features → lattices; the network runs beside the search.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use kaldi_io::log::Site;
use nnet3::decoders::{self, DecoderOptions, Tables};
use nnet3::decoding::Timing;
use nnet3::forward::Together;
use nnet3::options::device::USE_GPU;
use nnet3::options::forward::SimpleOptions;
use nnet3::training_log;
use nnet3_core::forward::GroupedForward;

const SITE: Site = Site::main("nnet3-latgen-faster.cc", 256);

/// Generate lattices using nnet3 neural net model.
///
/// The network runs on a thread beside the search. Results do not depend on that.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-latgen-faster --acoustic-scale=1.0 --frame-subsampling-factor=3 final.mdl HCLG.fst \
        scp:feats.scp ark:lat.ark\nSee also: nnet3-latgen-faster-parallel, nnet3-latgen-faster-batch"
)]
struct Options {
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

fn run(options: Options) -> Result<u8> {
    let Options { use_gpu, decoder, simple, tables } = &options;
    let start = Instant::now();
    let (model, device) = decoder.load(&tables.nnet_in, use_gpu)?;
    let (chunking, compiler) = (simple.chunking(&model.nnet)?, simple.compiler()?);
    let forward = GroupedForward::new(&model.nnet, &device, chunking, model.scaling.clone(), compiler, 1);
    let mut forward = forward.with_context(|| tables.nnet_in.clone())?;
    forward.executors().iter_mut().for_each(|executor| simple.observe(executor));
    let decoding = decoder.decoding(&model)?;
    let mut outputs = tables.outputs(SITE, &decoder.lattice)?;
    let network = (&mut forward, Together::No);
    decoders::decode(tables, &decoding, &decoder.ivector, network, 1, &mut outputs)?;
    let frame_subsampling_factor = simple.frame_subsampling_factor;
    let status = outputs.finish(&Timing { start, frame_subsampling_factor, threads: None })?;
    training_log::compilation(forward.compiler());
    Ok(status)
}

pub fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
