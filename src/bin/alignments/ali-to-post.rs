//! `ali-to-post`: alignments as posteriors.

use anyhow::Result;
use kaldi_feat::posterior::from_alignment;
use kaldi_io::holder::{I32VectorHolder, PosteriorHolder};
use nnet3::{messages, tables};

/// Convert alignments to posteriors.
///
/// This is simply a format change from integer vectors to posteriors, in which all probabilities are 1. The posteriors
/// are of whatever the input has: transition-ids from decoding, or pdf-ids from ali-to-pdf.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: ali-to-post ark:1.ali ark:1.post\nSee also: ali-to-pdf, ali-to-phones, post-to-weights"
)]
pub struct Options {
    alignments_rspecifier: String,
    posteriors_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.alignments_rspecifier, &options.posteriors_wspecifier);
    let output = tables::map::<I32VectorHolder, PosteriorHolder>(from, to, |_, alignment| {
        Ok(Ok(from_alignment(&alignment)))
    })?;
    messages::log(&format!("Converted {} alignments.", output.done));
    output.finish()
}
