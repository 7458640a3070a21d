//! `weight-post`: multiplies the probabilities of each frame.

use anyhow::Result;
use kaldi_feat::posterior::weight_frames;
use kaldi_io::RandomReader;
use kaldi_io::holder::{PosteriorHolder, VectorHolder};
use nnet3::{messages, tables};

/// Takes archives (typically per-utterance) of posteriors and per-frame weights, and weights the posteriors by the
/// per-frame weights.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: weight-post ark:post.ark ark:weights.ark ark:-")]
pub struct Options {
    /// Tolerate this many frames of length mismatch between posteriors and weights; frames without a weight get no entries
    #[arg(long, default_value_t = 2)]
    length_tolerance: i32,
    post_rspecifier: String,
    weights_rspecifier: String,
    post_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let mut weights = RandomReader::<VectorHolder>::open(&options.weights_rspecifier)?;
    let (from, to) = (&options.post_rspecifier, &options.post_wspecifier);
    let output = tables::map::<PosteriorHolder, PosteriorHolder>(from, to, |key, mut posterior| {
        let Some(weights) = weights.get(key)? else {
            return tables::skip_as(format!(
                "No weights for utterance {key} ({})",
                options.weights_rspecifier
            ));
        };
        let (frames, found) = (posterior.len(), weights.len());
        if frames.abs_diff(found) as i64 > i64::from(options.length_tolerance) {
            return tables::skip_as(format!(
                "Weights for utterance {key} have wrong size, {found} vs. {frames}"
            ));
        }
        weight_frames(&mut posterior, weights);
        Ok(Ok(posterior))
    })?;
    weights.close()?;
    messages::log(&format!("Scaled {} posteriors; errors on {}", output.done, output.failed));
    output.finish()
}
