//! Options of pitch, and of the features that are computed from pitch.

use crate::error::{Error, Result};

/// More lags than anybody can mean; backpointers have 16 bits.
const MOST_LAGS: usize = 1 << 14;
/// More samples or values of a window than anybody can mean.
const MOST_SAMPLES: f32 = 65536.0;

/// Largest number of frames of delay; a larger number must be a mistake.
const MOST_DELAY: usize = 1 << 20;

/// Options of the extraction of pitch.
#[derive(Debug, Clone, PartialEq)]
pub struct PitchOptions {
    /// Sample rate of the signal in Hz.
    pub sample_rate: f32,
    /// In milliseconds.
    pub frame_length: f32,
    /// In milliseconds.
    pub frame_shift: f32,
    /// Between 0 and 1.
    pub preemphasis: f32,
    /// Least pitch in Hz.
    pub min_f0: f32,
    /// Largest pitch in Hz.
    pub max_f0: f32,
    /// In Hz: low pitch costs as much more as if the NCCF were multiplied by 1 − soft_min_f0 · lag.
    pub soft_min_f0: f32,
    /// Cost of changes of pitch between frames.
    pub penalty_factor: f32,
    /// Cutoff in Hz of the filter before resampling.
    pub lowpass_cutoff: f32,
    /// Sample rate in Hz at which frames are compared.
    pub resample_rate: f32,
    /// Relative distance of two lags of the search.
    pub delta_pitch: f32,
    /// Weighs down the NCCF of quiet frames in the search.
    pub nccf_ballast: f32,
    /// Zeros of the filter before resampling, on each side.
    pub lowpass_filter_width: usize,
    /// Zeros of the filter that interpolates the NCCF, on each side.
    pub upsample_filter_width: usize,
    /// Number of last frames that a stream may hold back because their pitch is not certain.
    pub max_frames_latency: usize,
    /// Frames that [`super::extract`] takes at a time; 0 for the whole recording.
    pub frames_per_chunk: usize,
    /// Give each frame as it was when it first became ready. Needs `frames_per_chunk`.
    pub simulate_first_pass_online: bool,
    /// Number of the frame (from 1) at which the search is done again with the energy of all samples so far.
    pub recompute_frame: usize,
    /// Take the energy of the samples up to each frame, instead of the energy of all that have come.
    pub nccf_ballast_online: bool,
    /// Only frames that lie completely in the signal are computed.
    pub snip_edges: bool,
}

impl Default for PitchOptions {
    fn default() -> Self {
        PitchOptions {
            sample_rate: 16000.0,
            frame_length: 25.0,
            frame_shift: 10.0,
            preemphasis: 0.0,
            min_f0: 50.0,
            max_f0: 400.0,
            soft_min_f0: 10.0,
            penalty_factor: 0.1,
            lowpass_cutoff: 1000.0,
            resample_rate: 4000.0,
            delta_pitch: 0.005,
            nccf_ballast: 7000.0,
            lowpass_filter_width: 1,
            upsample_filter_width: 5,
            max_frames_latency: 0,
            frames_per_chunk: 0,
            simulate_first_pass_online: false,
            recompute_frame: 500,
            nccf_ballast_online: false,
            snip_edges: true,
        }
    }
}

impl PitchOptions {
    /// Finds options that do not fit each other.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::options(message));
        if !(self.min_f0 > 0.0 && self.max_f0 > self.min_f0 && self.max_f0 < self.resample_rate) {
            return refuse(format!(
                "pitch from {} to {} Hz: expected a range above 0 and below the resampled rate, {} Hz",
                self.min_f0, self.max_f0, self.resample_rate
            ));
        }
        let least_rate = self.resample_rate.min(self.sample_rate);
        if !(self.lowpass_cutoff > 0.0 && 2.0 * self.lowpass_cutoff <= least_rate) {
            return refuse(format!(
                "a lowpass cutoff of {} Hz: expected more than 0, and at most half of both sample rates ({} and {} Hz)",
                self.lowpass_cutoff, self.sample_rate, self.resample_rate
            ));
        }
        for (name, milliseconds) in [("length", self.frame_length), ("shift", self.frame_shift)] {
            let samples = self.resample_rate * milliseconds / 1000.0;
            if !(1.0..=MOST_SAMPLES).contains(&samples) {
                return refuse(format!(
                    "a frame {name} of {milliseconds} ms is {samples} samples at {} Hz: expected 1 to {MOST_SAMPLES}",
                    self.resample_rate
                ));
            }
        }
        if !(1.0..=MOST_SAMPLES).contains(&(self.resample_rate / self.min_f0)) {
            return refuse(format!(
                "a pitch of {} Hz is too low for a rate of {} Hz",
                self.min_f0, self.resample_rate
            ));
        }
        for (name, width) in [
            ("lowpass-filter-width", self.lowpass_filter_width),
            ("upsample-filter-width", self.upsample_filter_width),
        ] {
            if !(1..=1000).contains(&width) {
                return refuse(format!("`{name}`={width}: expected 1 to 1000"));
            }
        }
        if !(0.0..=1.0).contains(&self.preemphasis) {
            return refuse(format!(
                "a preemphasis coefficient of {}: expected one between 0 and 1",
                self.preemphasis
            ));
        }
        for (name, value) in [
            ("penalty-factor", self.penalty_factor),
            ("nccf-ballast", self.nccf_ballast),
            ("soft-min-f0", self.soft_min_f0),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return refuse(format!("`{name}`={value}: expected a number that is not negative"));
            }
        }
        let ratio = f64::from(self.max_f0) / f64::from(self.min_f0);
        let lags = ratio.ln() / (1.0 + f64::from(self.delta_pitch)).ln();
        if !(self.delta_pitch > 1e-6 && lags <= MOST_LAGS as f64) {
            return refuse(format!(
                "`delta-pitch`={}: expected a number above 0 with at most {MOST_LAGS} steps from {} to {} Hz",
                self.delta_pitch, self.min_f0, self.max_f0
            ));
        }
        if self.first_lag() < 0 {
            return refuse(format!(
                "`upsample-filter-width`={}: interpolation would need negative lags at {} Hz",
                self.upsample_filter_width, self.max_f0
            ));
        }
        if self.simulate_first_pass_online && self.frames_per_chunk == 0 {
            return refuse(
                "`simulate-first-pass-online`=true needs `frames-per-chunk`, a number above 0".to_owned(),
            );
        }
        Ok(())
    }

    /// Samples of a frame after resampling.
    pub(super) fn window(&self) -> usize {
        (f64::from(self.resample_rate) * f64::from(self.frame_length) / 1000.0) as usize
    }

    /// Samples between frames after resampling.
    pub(super) fn shift(&self) -> usize {
        (f64::from(self.resample_rate) * f64::from(self.frame_shift) / 1000.0) as usize
    }

    /// Lags at the ends of the search, by which the interpolation goes beyond (in seconds).
    fn margin(&self) -> f64 {
        self.upsample_filter_width as f64 / (2.0 * f64::from(self.resample_rate))
    }

    /// The shortest lag in samples: ⌈f(1/max_f0 − u/2f)⌉.
    pub(super) fn first_lag(&self) -> i64 {
        let shortest = 1.0 / f64::from(self.max_f0) - self.margin();
        (f64::from(self.resample_rate) * shortest).ceil() as i64
    }

    /// The longest lag in samples: ⌊f(1/min_f0 + u/2f)⌋.
    pub(super) fn last_lag(&self) -> i64 {
        let longest = 1.0 / f64::from(self.min_f0) + self.margin();
        (f64::from(self.resample_rate) * longest).floor() as i64
    }

    /// The lags of the search in seconds, from the highest pitch to the lowest one.
    pub(super) fn lags(&self) -> Vec<f32> {
        let longest = (1.0 / f64::from(self.min_f0)) as f32;
        let ratio = 1.0 + f64::from(self.delta_pitch);
        let next = |lag: &f32| Some((f64::from(*lag) * ratio) as f32);
        std::iter::successors(Some((1.0 / f64::from(self.max_f0)) as f32), next)
            .take_while(|&lag| lag <= longest)
            .collect()
    }
}

/// Options of the features that are computed from pitch.
#[derive(Debug, Clone, PartialEq)]
pub struct PitchProcessOptions {
    /// Factor of the normalised logarithm of pitch.
    pub pitch_scale: f32,
    /// Factor of the feature for the probability of voicing (POV).
    pub pov_scale: f32,
    /// Added to that feature.
    pub pov_offset: f32,
    /// Factor of the slope of log pitch.
    pub delta_pitch_scale: f32,
    /// Standard deviation of the noise added to the slope.
    pub delta_pitch_noise_stddev: f32,
    /// Frames before a frame over which log pitch is averaged.
    pub normalization_left_context: usize,
    /// Frames after it.
    pub normalization_right_context: usize,
    /// Frames on each side from which the slope is estimated.
    pub delta_window: usize,
    /// Frames by which the output is late.
    pub delay: usize,
    pub add_pov_feature: bool,
    pub add_normalized_log_pitch: bool,
    pub add_delta_pitch: bool,
    pub add_raw_log_pitch: bool,
}

impl Default for PitchProcessOptions {
    fn default() -> Self {
        PitchProcessOptions {
            pitch_scale: 2.0,
            pov_scale: 2.0,
            pov_offset: 0.0,
            delta_pitch_scale: 10.0,
            delta_pitch_noise_stddev: 0.005,
            normalization_left_context: 75,
            normalization_right_context: 75,
            delta_window: 2,
            delay: 0,
            add_pov_feature: true,
            add_normalized_log_pitch: true,
            add_delta_pitch: true,
            add_raw_log_pitch: false,
        }
    }
}

impl PitchProcessOptions {
    /// Features of a frame.
    pub fn dim(&self) -> usize {
        [self.add_pov_feature, self.add_normalized_log_pitch, self.add_delta_pitch, self.add_raw_log_pitch]
            .into_iter()
            .map(usize::from)
            .sum()
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.dim() == 0 {
            return Err(Error::options(
                "no feature is chosen: expected one of `add-pov-feature`, `add-normalized-log-pitch`, \
                 `add-delta-pitch`, `add-raw-log-pitch`",
            ));
        }
        if self.delay > MOST_DELAY {
            return Err(Error::options(format!("`delay`={}: expected at most {MOST_DELAY}", self.delay)));
        }
        if self.delta_window == 0 || self.delta_window > MOST_LAGS {
            return Err(Error::options(format!(
                "`delta-window`={}: expected 1 to {MOST_LAGS}",
                self.delta_window
            )));
        }
        Ok(())
    }
}
