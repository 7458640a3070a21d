//! `align-equal-compiled`: aligns features with graphs of transcripts, spreading frames equally.

use anyhow::Result;
use nnet3::utterances::{Utterance, Utterances};

use crate::recognition::equal_alignment::EqualAligner;

/// Write an equally spaced alignment (for getting training started)
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.:\n align-equal-compiled 1.mdl 1.fsts scp:train.scp ark:equal.ali\nSee also: align-equal"
)]
pub struct Options {
    /// Write output in binary mode. It has no effect: the wspecifier gives the mode.
    #[arg(long, default_value_t = true)]
    binary: bool,
    graphs_rspecifier: String,
    features_rspecifier: String,
    alignments_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let missing = |key: &str| format!("No features for utterance {key}");
    let (graphs, features) = (&options.graphs_rspecifier, &options.features_rspecifier);
    let mut utterances = Utterances::of_graphs(graphs, features, missing)?;
    let mut aligner = EqualAligner::open(&options.alignments_wspecifier)?;
    while let Some(Utterance { key, graph, features }) = utterances.read()? {
        match features {
            Ok(features) => aligner.align(&key, &graph.unwrap_or_default(), features.rows)?,
            Err(skip) => aligner.lacks(&skip.sentence(&key)),
        }
    }
    utterances.close()?;
    aligner.finish("features")
}
