//! `add-deltas`: derivatives of features by time.

use anyhow::{Result, bail};
use kaldi_feat::deltas::Deltas;
use kaldi_io::holder::MatrixHolder;
use nnet3::tables;

/// Add deltas (typically to raw mfcc or plp features).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: add-deltas scp:feats.scp ark:-")]
pub struct Options {
    /// Order of delta computation
    #[arg(long, default_value_t = 2)]
    delta_order: i32,
    /// Parameter controlling window for delta computation (actual window size for each delta order is
    /// 1 + 2*delta-window)
    #[arg(long, default_value_t = 2)]
    delta_window: i32,
    /// If nonzero, first truncate features to this dimension.
    #[arg(long, default_value_t = 0)]
    truncate: i32,
    in_rspecifier: String,
    out_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let deltas = Deltas::new(options.delta_order, options.delta_window)?;
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
