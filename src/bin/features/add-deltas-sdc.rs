//! `add-deltas-sdc`: shifted delta features.

use anyhow::{Result, bail};
use kaldi_feat::deltas::ShiftedDeltas;
use kaldi_io::holder::MatrixHolder;
use nnet3::tables;

/// Add shifted delta cepstra (typically to raw mfcc or plp features), for language recognition.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: add-deltas-sdc scp:feats.scp ark:-\nSee also: add-deltas")]
pub struct Options {
    /// Frames on each side of a delta
    #[arg(long, default_value_t = 1)]
    delta_window: i32,
    /// Number of delta blocks in advance of each frame to be concatenated
    #[arg(long, default_value_t = 7)]
    num_blocks: i32,
    /// Distance between each block
    #[arg(long, default_value_t = 3)]
    block_shift: i32,
    /// If nonzero, first truncate features to this dimension.
    #[arg(long, default_value_t = 0)]
    truncate: i32,
    in_rspecifier: String,
    out_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let deltas = ShiftedDeltas::new(options.delta_window, options.num_blocks, options.block_shift)?;
    let Ok(dim) = usize::try_from(options.truncate) else {
        bail!("--truncate={}: expected a number that is not negative", options.truncate);
    };
    let (from, to) = (&options.in_rspecifier, &options.out_wspecifier);
    tables::map::<MatrixHolder, MatrixHolder>(from, to, |key, mut features| {
        if features.rows == 0 {
            return tables::skip_as(format!("Empty feature matrix for key {key}"));
        }
        if dim > features.cols {
            bail!("--truncate={dim}: expected at most {}, the dimension of the features", features.cols);
        }
        if dim > 0 {
            features = features.block(0, features.rows, 0, dim);
        }
        Ok(Ok(deltas.apply(&features)))
    })?
    .finish_any()
}
