//! `shift-feats`: frames moved to earlier or later times.

use anyhow::Result;
use kaldi_feat::frames;
use kaldi_io::holder::MatrixHolder;
use nnet3::{messages, tables};

/// Copies features, and possibly shifts them while maintaining the length.
///
/// Frame t of the output is frame t - shift of the input; the first or last frame fills the gap.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: shift-feats --shift=2 scp:feats.scp ark:-\nSee also: copy-feats, select-feats, subset-feats"
)]
pub struct Options {
    /// Number of time-frames to shift the features (may be negative)
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    shift: i32,
    feature_rspecifier: String,
    feature_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.feature_rspecifier, &options.feature_wspecifier);
    let output = tables::map::<MatrixHolder, MatrixHolder>(from, to, |_, features| {
        if features.rows == 0 {
            return tables::skip(tables::NO_FRAMES);
        }
        Ok(Ok(frames::shift(&features, options.shift)))
    })?;
    messages::log(&format!(
        "Shifted {} features by {} frames; {} with errors.",
        output.done, options.shift, output.failed
    ));
    output.finish()
}
