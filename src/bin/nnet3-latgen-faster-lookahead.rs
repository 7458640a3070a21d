//! `nnet3-latgen-faster-lookahead`: features → lattices, with a graph that is composed while it is searched.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use kaldi_io::log::Site;
use nnet3::decoders::{self, DecoderOptions};
use nnet3::decoding::{Outputs, Timing};
use nnet3::forward::Together;
use nnet3::options::device::USE_GPU;
use nnet3::options::forward::SimpleOptions;
use nnet3::search_graph::PairFiles;
use nnet3::utterances::Utterances;
use nnet3::{tables, training_log};
use nnet3_core::forward::GroupedForward;

const SITE: Site = Site::main("nnet3-latgen-faster-lookahead.cc", 260);

/// Generate lattices using nnet3 neural net model, and a graph that is composed of HCL and G while it is searched.
///
/// HCL is of type olabel_lookahead, G of type ngram, const or vector with its input labels renumbered as HCL's output labels
/// are. The network runs on a thread beside the search. Results do not depend on that.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-latgen-faster-lookahead --acoustic-scale=1.0 --frame-subsampling-factor=3 final.mdl HCLr.fst Gr.fst \
        disambig_tid.int scp:feats.scp ark:lat.ark\nSee also: nnet3-latgen-faster"
)]
struct Options {
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
    lattice_wspecifier: String,
    words_wspecifier: Option<String>,
    alignments_wspecifier: Option<String>,
}

fn run(options: Options) -> Result<u8> {
    let Options { use_gpu, decoder, simple, .. } = &options;
    for graph in [&options.hcl_fst_in, &options.g_fst_in] {
        if tables::is_input(graph) {
            bail!(
                "{graph}: Not supported for lookahead: expected the name of a file, found a table of graphs"
            );
        }
    }
    let start = Instant::now();
    let (model, device) = decoder.load(&options.nnet_in, use_gpu)?;
    let (chunking, compiler) = (simple.chunking(&model.nnet)?, simple.compiler()?);
    let forward = GroupedForward::new(&model.nnet, &device, chunking, model.scaling.clone(), compiler, 1);
    let mut forward = forward.with_context(|| options.nnet_in.clone())?;
    forward.executors().iter_mut().for_each(|executor| simple.observe(executor));
    let decoding = decoder.decoding(&model)?;
    let graph = decoding.graph_pair(PairFiles {
        hcl: &options.hcl_fst_in,
        grammar: &options.g_fst_in,
        disambiguation: &options.disambig_list,
    })?;
    let utterances = Utterances::of_features(&options.features_rspecifier)?;
    let (words, alignments) = (options.words_wspecifier.as_ref(), options.alignments_wspecifier.as_ref());
    let mut outputs = Outputs::open(SITE, &decoder.lattice, &options.lattice_wspecifier, words, alignments)?;
    let network = (&mut forward, Together::No);
    decoders::decode_with(Some(&graph), utterances, &decoding, &decoder.ivector, network, 1, &mut outputs)?;
    let frame_subsampling_factor = simple.frame_subsampling_factor;
    let status = outputs.finish(&Timing { start, frame_subsampling_factor, threads: None })?;
    training_log::compilation(forward.compiler());
    Ok(status)
}

pub fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
