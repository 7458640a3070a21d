//! `latgen-faster-mapped`: log-likelihoods of pdfs → lattices.

use std::time::Instant;

use crate::recognition::decoders::Results;
use crate::recognition::decoding::{Decoding, LatticeOptions, Timing};
use anyhow::{Context, Result};
use kaldi_hmm::TransitionModel;
use kaldi_io::log::Site;
use kaldi_io::read_object;
use nnet3::utterances::{Utterance, Utterances};

const SITE: Site = Site::main("latgen-faster-mapped.cc", 1);

/// Generate lattices, reading log-likelihoods as matrices (model is needed only for the integer mappings in its
/// transition-model).
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: latgen-faster-mapped --acoustic-scale=0.1 final.mdl HCLG.fst ark:loglikes.ark ark:lat.ark"
)]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 0.1)]
    acoustic_scale: f32,
    #[command(flatten)]
    lattice: LatticeOptions,
    trans_model_in: String,
    /// A graph for all utterances, or a table of graphs
    fst_in: String,
    loglikes_rspecifier: String,
    #[command(flatten)]
    results: Results,
}

pub fn run(options: Options) -> Result<u8> {
    let start = Instant::now();
    let model: TransitionModel = read_object(&options.trans_model_in)?;
    let scale = options.acoustic_scale;
    let decoding = Decoding::new(&options.lattice, &model, scale)?;
    let graph = decoding.graph(&options.fst_in)?;
    let mut decoder = decoding.decoder(graph.as_ref())?;
    let (graphs, loglikes) = (&options.fst_in, &options.loglikes_rspecifier);
    let mut utterances = match graph {
        Some(_) => Utterances::of_features(loglikes),
        None => Utterances::of_graphs(graphs, loglikes, |key| {
            format!("Not decoding utterance {key} because no loglikes available.")
        }),
    }?;
    let mut outputs = options.results.open(SITE, &options.lattice)?;
    while let Some(Utterance { key, graph, features }) = utterances.read()? {
        let searched = decoder.search(key, graph, features, scale).with_context(|| loglikes.clone())?;
        outputs.write(decoding.finish(searched))?;
    }
    utterances.close()?;
    outputs.finish(&Timing { start, frame_subsampling_factor: 1, threads: None })
}
