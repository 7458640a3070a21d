//! `subsample-feats`: every n'th frame.

use anyhow::Result;
use kaldi_feat::frames::Subsampling;
use kaldi_io::holder::MatrixHolder;
use nnet3::{messages, tables};

/// Sub-samples features by taking every n'th frame.
///
/// With negative values of n, will repeat each frame n times (e.g. --n=-2 will repeat each frame twice).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g. subsample-feats --n=2 ark:- ark:-")]
pub struct Options {
    /// Take every n'th feature, for this value of n (with negative value, repeats each feature n times)
    #[arg(long, default_value_t = 1)]
    n: i32,
    /// Start with the feature with this offset, then take every n'th feature.
    #[arg(long, default_value_t = 0)]
    offset: i32,
    in_rspecifier: String,
    out_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let subsampling = Subsampling::new(options.n, options.offset)?;
    let (mut frames_in, mut frames_out) = (0, 0);
    let (from, to) = (&options.in_rspecifier, &options.out_wspecifier);
    let output = tables::map::<MatrixHolder, MatrixHolder>(from, to, |key, features| {
        let subsampled = subsampling.apply(&features);
        frames_in += features.rows;
        frames_out += subsampled.rows;
        if subsampled.rows == 0 && options.n > 0 {
            return tables::skip_as(format!(
                "For utterance {key}, output would have no rows, producing no output."
            ));
        }
        Ok(Ok(subsampled))
    })?;
    messages::log(&format!("Processed {} feature matrices; {} with errors.", output.done, output.failed));
    messages::log(&format!("Processed {frames_in} input frames and {frames_out} output frames."));
    output.finish()
}
