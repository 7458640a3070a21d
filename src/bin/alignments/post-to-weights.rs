//! `post-to-weights`: the sum of the probabilities of each frame.

use anyhow::Result;
use kaldi_feat::posterior::frame_weights;
use kaldi_io::holder::{PosteriorHolder, VectorHolder};
use nnet3::{messages, tables};

/// Turn posteriors into per-frame weights (typically most useful after weighting silence, to get silence weights).
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: post-to-weights ark:post.ark ark:weights.ark\nSee also: post-to-feats, weight-post"
)]
pub struct Options {
    post_rspecifier: String,
    weights_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.post_rspecifier, &options.weights_wspecifier);
    let output = tables::map::<PosteriorHolder, VectorHolder>(from, to, |_, posterior| {
        Ok(Ok(frame_weights(&posterior)))
    })?;
    messages::log(&format!("Done converting {} posteriors to weights.", output.done));
    output.finish()
}
