//! `nnet3-latgen-faster-lookahead`: features → lattices, with a graph that is composed while it is searched.

use crate::recognition::decoders::{DecoderOptions, Inputs, Results};
use crate::recognition::decoding::Decoding;
use crate::recognition::latgen::Latgen;
use anyhow::{Result, bail};
use kaldi_cli::log::Site;
use nnet3::options::device::USE_GPU;
use nnet3::options::forward::SimpleOptions;
use nnet3::tables;
use nnet3_online::graph::PairFiles;

const SITE: Site = Site::main("nnet3-latgen-faster-lookahead.cc", 260);

/// Generate lattices using nnet3 neural net model, and a graph that is composed of HCL and G during the search.
///
/// HCL is of type olabel_lookahead. G is of type ngram, const or vector, and its input labels are renumbered like HCL's
/// output labels. The network runs on a thread beside the search. Results do not depend on that.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-latgen-faster-lookahead --acoustic-scale=1.0 --frame-subsampling-factor=3 final.mdl HCLr.fst Gr.fst \
        disambig_tid.int scp:feats.scp ark:lat.ark\nSee also: nnet3-latgen-faster"
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
    hcl_fst_in: String,
    g_fst_in: String,
    /// Input labels of HCL that consume no frame
    disambig_list: String,
    features_rspecifier: String,
    #[command(flatten)]
    results: Results,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { use_gpu, decoder, simple, nnet_in, hcl_fst_in, g_fst_in, disambig_list, .. } = &options;
    for graph in [hcl_fst_in, g_fst_in] {
        if tables::is_input(graph) {
            bail!(
                "{graph}: Not supported for lookahead: expected the name of a file, found a table of graphs"
            );
        }
    }
    let open = |decoding: &Decoding| {
        let files = PairFiles { hcl: hcl_fst_in, grammar: g_fst_in, disambiguation: disambig_list };
        Inputs::with_graph(decoding.graph_pair(files)?, &options.features_rspecifier)
    };
    Latgen { site: SITE, use_gpu, decoder }.wholes(simple, nnet_in, open, &options.results)
}
