//! `nnet3-latgen-grammar`: features → lattices, with graphs that refer to each other.

use crate::recognition::decoders::{DecoderOptions, Inputs, Results};
use crate::recognition::decoding::Decoding;
use crate::recognition::latgen::Latgen;
use anyhow::Result;
use kaldi_cli::log::Site;
use nnet3::options::device::USE_GPU;
use nnet3::options::forward::SimpleOptions;

const SITE: Site = Site::main("nnet3-latgen-grammar.cc", 240);

/// Generate lattices using nnet3 neural net model, and GrammarFst-based graph see kaldi-asr.org/doc/grammar.html for more
/// context.
///
/// Graphs are put together where the search comes. Lattices are those of nnet3-latgen-faster with the graph that make-grammar-fst
/// --write-as-grammar=false writes.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-latgen-grammar --acoustic-scale=1.0 --frame-subsampling-factor=3 final.mdl HCLG_grammar.fst \
        scp:feats.scp ark:lat.ark\nSee also: make-grammar-fst, nnet3-latgen-faster"
)]
pub struct Options {
    /// yes|no|optional|wait: whether the network runs on a GPU
    #[arg(long, default_value = "no", value_parser = USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    decoder: DecoderOptions,
    #[command(flatten)]
    simple: SimpleOptions,
    nnet_in: String,
    grammar_fst_in: String,
    features_rspecifier: String,
    #[command(flatten)]
    results: Results,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { use_gpu, decoder, simple, nnet_in, grammar_fst_in, .. } = &options;
    let open = |decoding: &Decoding| {
        Inputs::with_graph(decoding.grammar(grammar_fst_in)?, &options.features_rspecifier)
    };
    Latgen { site: SITE, use_gpu, decoder }.wholes(simple, nnet_in, open, &options.results)
}
