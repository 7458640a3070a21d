//! `process-pitch-feats`: normalises pitch of the older kind.

use anyhow::{Result, bail};
use kaldi_feat::pitch::normalize_pairs;
use kaldi_io::holder::MatrixHolder;
use nnet3::{messages, tables};

/// Post-process pitch features of the older kind: frames of (probability of voicing, pitch in Hz), with pitch interpolated
/// by interpolate-pitch.
///
/// The probability becomes its log-odds; of the pitch the logarithm is taken, less a moving average, and smoothed.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: interpolate-pitch ark:pitch.ark ark:- | process-pitch-feats ark:- ark:feats.ark\n\
    See also: process-kaldi-pitch-feats"
)]
pub struct Options {
    /// Size of window used for moving window normalization (must be odd).
    #[arg(long, default_value_t = 151)]
    normalization_window_size: i32,
    /// Size of moving average window (must be odd).
    #[arg(long, default_value_t = 5)]
    average_window_size: i32,
    feature_rspecifier: String,
    feats_wspecifier: String,
}

/// The frames on each side of the middle of a window.
fn context(option: &str, size: i32) -> Result<usize> {
    match usize::try_from(size) {
        Ok(size) if size % 2 == 1 => Ok(size / 2),
        _ => bail!("--{option}={size}: expected an odd number above 0"),
    }
}

pub fn run(options: Options) -> Result<u8> {
    let normalization = context("normalization-window-size", options.normalization_window_size)?;
    let average = context("average-window-size", options.average_window_size)?;
    let (from, to) = (&options.feature_rspecifier, &options.feats_wspecifier);
    let output =
        tables::map::<MatrixHolder, MatrixHolder>(from, to, |key, mut pitch| {
            match normalize_pairs(&mut pitch, normalization, average) {
                Ok(()) => {
                    messages::detail(2, format_args!("Processed features for key {key}"));
                    Ok(Ok(pitch))
                }
                Err(reason) => tables::skip(reason),
            }
        })?;
    messages::log(&format!("Done {} utterances, {} with errors.", output.done, output.failed));
    output.finish()
}
