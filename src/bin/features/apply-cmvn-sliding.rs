//! `apply-cmvn-sliding`: normalisation by a sliding window.

use anyhow::{Result, bail};
use kaldi_feat::sliding_cmn::{Floored, SlidingCmn};
use kaldi_io::holder::MatrixHolder;
use nnet3::{messages, tables};

/// Apply sliding-window cepstral mean (and optionally variance) normalization per utterance.
///
/// If center == true, window is centered on frame being normalized; otherwise it precedes it in time. Useful for
/// speaker-id; see also apply-cmvn-online.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: apply-cmvn-sliding --center=true --cmn-window=300 scp:feats.scp ark:-")]
pub struct Options {
    /// Window in frames for running average CMN computation
    #[arg(long, default_value_t = 600)]
    cmn_window: i32,
    /// Minimum CMN window used at start of decoding (adds latency only at start). Only applicable if center == false
    #[arg(long, default_value_t = 100)]
    min_cmn_window: i32,
    /// Maximum warnings to report per utterance. 0 to disable, -1 to show all.
    #[arg(long, default_value_t = 5)]
    max_warnings: i32,
    /// If true, normalize variance to one.
    #[arg(long)]
    norm_vars: bool,
    /// If true, use a window centered on the current frame (to the extent possible, modulo end effects). If false, window
    /// is to the left.
    #[arg(long)]
    center: bool,
    feats_rspecifier: String,
    feats_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (Ok(window), Ok(min_window)) =
        (usize::try_from(options.cmn_window), usize::try_from(options.min_cmn_window))
    else {
        bail!("--cmn-window and --min-cmn-window must not be negative");
    };
    let cmn =
        SlidingCmn { window, min_window, center: options.center, normalize_variances: options.norm_vars };
    let (from, to) = (&options.feats_rspecifier, &options.feats_wspecifier);
    let output = tables::map::<MatrixHolder, MatrixHolder>(from, to, |key, features| {
        if features.rows == 0 {
            return tables::skip_as(tables::no_frames(key));
        }
        let (normalized, floored) = cmn.apply(&features)?;
        warn(key, &floored, options.max_warnings);
        Ok(Ok(normalized))
    })?;
    messages::log(&format!(
        "Applied sliding-window cepstral mean {}normalization to {} utterances, {} had errors.",
        if options.norm_vars { "and variance " } else { "" },
        output.done,
        output.failed
    ));
    output.finish()
}

/// Prints at most `limit` warnings about floored variances, or all if it is negative.
fn warn(key: &str, floored: &[Floored], limit: i32) {
    let shown = usize::try_from(limit).unwrap_or(floored.len());
    for Floored { dims, window_frames } in floored.iter().take(shown) {
        messages::warn(&format!(
            "{key}: flooring when normalizing variance, floored {dims} elements; num-frames was {window_frames}"
        ));
    }
    if floored.len() > shown {
        messages::warn(&format!(
            "{key}: suppressing the remaining variance flooring warnings. Run program with --max-warnings=-1 to see \
             all warnings."
        ));
    }
}
