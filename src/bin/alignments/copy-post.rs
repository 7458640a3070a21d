//! `copy-post`: copies posteriors, scaled.

use anyhow::Result;
use kaldi_feat::posterior;
use kaldi_io::holder::PosteriorHolder;
use nnet3::{messages, tables};

/// Copy archives of posteriors, with optional scaling.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: copy-post ark:post.ark ark,t:-\nSee also: post-to-weights, scale-post, sum-post, weight-post"
)]
pub struct Options {
    /// Scale for posteriors
    #[arg(long, default_value_t = 1.0)]
    scale: f32,
    post_rspecifier: String,
    post_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.post_rspecifier, &options.post_wspecifier);
    let output = tables::map::<PosteriorHolder, PosteriorHolder>(from, to, |_, mut posterior| {
        posterior::scale(&mut posterior, options.scale);
        Ok(Ok(posterior))
    })?;
    messages::log(&format!("Done copying {} posteriors.", output.done));
    output.finish()
}
