//! `interpolate-pitch`: fills in pitch for frames without it.

use anyhow::Result;
use kaldi_cli::log::{self, Site, ratio};
use kaldi_feat::pitch::{PitchSmoother, SmoothingNoise, SmoothingOptions, bridge_gaps};
use kaldi_io::holder::MatrixHolder;
use nnet3::{messages, tables};
use nnet3_core::random::Random;

/// Processes features of the older kind, frames of (probability of voicing, pitch in Hz): smooths pitch, and
/// interpolates frames without pitch (pitch 0).
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: interpolate-pitch ark:pitch.ark ark:- | process-pitch-feats ark:- ark:feats.ark"
)]
pub struct Options {
    /// If true, just do simple linear interpolation across gaps (else, model-based)
    #[arg(long)]
    linear_interpolation: bool,
    /// Frequency interval in Hz, used for the pitch interpolation and smoothing algorithm.
    #[arg(long, default_value_t = 4.0)]
    pitch_interval: f32,
    /// Factor affecting the interpolation algorithm; setting it closer to zero will cause it to follow the measured pitch
    /// more faithfully but less smoothly
    #[arg(long, default_value_t = 1e-5)]
    interpolator_factor: f32,
    /// Probability of voicing the algorithm uses as the observed p(voicing) approaches 1; having value <1 allows it to
    /// interpolate even if p(voicing) = 1
    #[arg(long, default_value_t = 0.9)]
    max_voicing_prob: f32,
    /// This value should be set large enough to no longer affect the results, but the larger it is the slower the
    /// algorithm will be.
    #[arg(long, default_value_t = 10.0)]
    max_pitch_change_per_frame: f32,
    feats_rspecifier: String,
    feats_wspecifier: String,
}

/// The C library's random numbers.
struct Noise(Random);

impl SmoothingNoise for Noise {
    fn uniform(&mut self) -> f32 {
        self.0.uniform()
    }
    fn normals(&mut self, count: usize) -> Vec<f32> {
        self.0.normal_vec(count, 0.0, 1.0)
    }
}

pub fn run(options: Options) -> Result<u8> {
    let smoothing = SmoothingOptions {
        interval: options.pitch_interval,
        factor: options.interpolator_factor,
        max_voicing: options.max_voicing_prob,
        max_change: options.max_pitch_change_per_frame,
    };
    let mut smoother = PitchSmoother::new(smoothing, Noise(Random::new(0)))?;
    let (from, to) = (&options.feats_rspecifier, &options.feats_wspecifier);
    let mut done = 0;
    let output = tables::map::<MatrixHolder, MatrixHolder>(from, to, |key, mut pitch| {
        if pitch.rows == 0 {
            return tables::skip_as(tables::no_frames(key));
        }
        let result = match options.linear_interpolation {
            true => bridge_gaps(&mut pitch),
            false => smoother.smooth(&mut pitch),
        };
        if let Err(reason) = result {
            return tables::skip(reason);
        }
        messages::detail(2, format_args!("Processed features for key {key}"));
        done += 1;
        if done % 10 == 0 {
            messages::log(&format!("Processed {done} utterances"));
        }
        Ok(Ok(pitch))
    })?;
    let counts = smoother.counts;
    if counts.frames > 0 {
        let percent = |count: u64| ratio(100.0 * count as f64, counts.frames as f64);
        log::log(
            &Site::new("Print", "interpolate-pitch.cc", 1),
            &format!(
                "Over {} frames, {}% were zero at input, and {}% were not zero but were changed.",
                counts.frames,
                percent(counts.zero),
                percent(counts.changed)
            ),
        );
    }
    messages::log(&format!("Done {} utterances, {} with errors.", output.done, output.failed));
    output.finish()
}
