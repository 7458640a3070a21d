//! `nnet3-latgen-faster`: features → lattices; the network runs beside the search.

use crate::recognition::decoders::{DecoderOptions, Tables};
use crate::recognition::decoding::Decoding;
use crate::recognition::latgen::Latgen;
use anyhow::Result;
use kaldi_cli::log::Site;
use nnet3::options::device::USE_GPU;
use nnet3::options::forward::SimpleOptions;

const SITE: Site = Site::main("nnet3-latgen-faster.cc", 256);

/// Generate lattices using nnet3 neural net model.
///
/// The network runs on a thread beside the search. Results do not depend on that.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-latgen-faster --acoustic-scale=1.0 --frame-subsampling-factor=3 final.mdl HCLG.fst \
        scp:feats.scp ark:lat.ark\nSee also: nnet3-latgen-faster-parallel, nnet3-latgen-faster-batch"
)]
pub struct Options {
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
    let Options { use_gpu, decoder, simple, tables } = &options;
    let open = |decoding: &Decoding| tables.open(decoding);
    Latgen { site: SITE, use_gpu, decoder }.wholes(simple, &tables.nnet_in, open, &tables.results)
}
