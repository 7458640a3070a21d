//! `splice-feats`: each frame with those around it.

use anyhow::{Result, bail};
use kaldi_feat::frames::splice;
use kaldi_io::holder::MatrixHolder;
use nnet3::tables;

/// Splice features with left and right context (e.g. prior to LDA).
///
/// Outside the utterance its first and last frame are repeated.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: splice-feats scp:feats.scp ark:-")]
pub struct Options {
    /// Number of frames of left context
    #[arg(long, default_value_t = 4)]
    left_context: i32,
    /// Number of frames of right context
    #[arg(long, default_value_t = 4)]
    right_context: i32,
    feature_rspecifier: String,
    feature_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let contexts = (usize::try_from(options.left_context), usize::try_from(options.right_context));
    let (Ok(left), Ok(right)) = contexts else {
        bail!("--left-context and --right-context must not be negative");
    };
    let (from, to) = (&options.feature_rspecifier, &options.feature_wspecifier);
    tables::map::<MatrixHolder, MatrixHolder>(from, to, |key, features| {
        if features.rows == 0 {
            return tables::skip_as(tables::no_frames(key));
        }
        Ok(Ok(splice(&features, left, right)?))
    })?
    .finish_any()
}
