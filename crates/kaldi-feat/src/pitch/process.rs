//! From pitch to features (`OnlineProcessPitch` of `feat/pitch-functions.cc`).

use super::COLUMNS;
use super::options::PitchProcessOptions;
use super::tracker::PitchTracker;
use crate::error::Result;

/// NCCF and pitch frame by frame.
pub trait PitchSource {
    /// Frames so far.
    fn ready(&self) -> usize;
    /// True if all frames have been returned.
    fn is_finished(&self) -> bool;
    /// NCCF and pitch of a frame that is ready.
    fn frame(&self, t: usize) -> [f32; COLUMNS];
}

impl PitchSource for PitchTracker {
    fn ready(&self) -> usize {
        PitchTracker::ready(self)
    }
    fn is_finished(&self) -> bool {
        PitchTracker::is_finished(self)
    }
    fn frame(&self, t: usize) -> [f32; COLUMNS] {
        PitchTracker::frame(self, t)
    }
}

/// A frame of the source as it was, with its logarithm of pitch and its weight in averages.
#[derive(Debug, Clone, Copy)]
struct Known {
    frame: [f32; COLUMNS],
    log_pitch: f32,
    weight: f32,
}

/// Makes the features of one recording. `noise` returns standard normal numbers. If the features include the slope of
/// pitch, each frame takes one number.
#[derive(Debug)]
pub struct PitchProcessor<N> {
    options: PitchProcessOptions,
    noise: N,
    /// The noise of each frame. It is stored, so a frame has the same noise in each request.
    drawn: Vec<f32>,
    known: Vec<Known>,
}

/// Probability of voicing, about, by the absolute value of the NCCF.
fn voicing(nccf: f32) -> f32 {
    let a = f64::from(nccf.abs().min(1.0));
    let r = -5.2 + 5.4 * (7.5 * (a - 1.0)).exp() + 4.8 * a - 2.0 * (-10.0 * a).exp()
        + 4.2 * (20.0 * (a - 1.0)).exp();
    (1.0 / (1.0 + (-r).exp())) as f32
}

impl<N: FnMut() -> f32> PitchProcessor<N> {
    pub fn new(options: PitchProcessOptions, noise: N) -> Result<Self> {
        options.check()?;
        Ok(PitchProcessor { options, noise, drawn: Vec::new(), known: Vec::new() })
    }

    /// Features of a frame.
    pub fn dim(&self) -> usize {
        self.options.dim()
    }

    /// Frames of features of a source that is as far as this one.
    pub fn ready(&self, source: &impl PitchSource) -> usize {
        let (frames, delay) = (source.ready(), self.options.delay);
        match frames {
            0 => 0,
            _ if source.is_finished() => frames + delay,
            _ => (frames + delay).saturating_sub(self.options.normalization_right_context),
        }
    }

    /// Appends the features of frame `t`, which must be ready.
    pub fn append(&mut self, source: &impl PitchSource, t: usize, out: &mut Vec<f32>) {
        let t = t.saturating_sub(self.options.delay);
        let Known { frame: [nccf, _], log_pitch, .. } = self.know(source, t);
        if self.options.add_pov_feature {
            let pov = (1.0001 - f64::from(nccf.clamp(-1.0, 1.0))).powf(0.15) - 1.0;
            out.push(self.options.pov_scale * pov as f32 + self.options.pov_offset);
        }
        if self.options.add_normalized_log_pitch {
            let average = self.average(source, t);
            out.push(self.options.pitch_scale * (f64::from(log_pitch) - average) as f32);
        }
        if self.options.add_delta_pitch {
            let slope = self.slope(source, t);
            while self.drawn.len() <= t {
                self.drawn.push((self.noise)() * self.options.delta_pitch_noise_stddev);
            }
            out.push(self.options.delta_pitch_scale * (slope + self.drawn[t]));
        }
        if self.options.add_raw_log_pitch {
            out.push(log_pitch);
        }
    }

    /// Looks at a frame of the source, which may have changed.
    fn know(&mut self, source: &impl PitchSource, t: usize) -> Known {
        let frame = source.frame(t);
        if let Some(&known) = self.known.get(t).filter(|known| known.frame == frame) {
            return known;
        }
        let [nccf, pitch] = frame;
        let known = Known { frame, log_pitch: pitch.ln(), weight: voicing(nccf) };
        // A frame of NaN differs from every other.
        let unknown = Known { frame: [f32::NAN; COLUMNS], log_pitch: 0.0, weight: 0.0 };
        self.known.resize(self.known.len().max(t + 1), unknown);
        self.known[t] = known;
        known
    }

    /// Log pitch averaged over the frames around `t`, weighed by the probability of voicing.
    fn average(&mut self, source: &impl PitchSource, t: usize) -> f64 {
        let first = t.saturating_sub(self.options.normalization_left_context);
        let end = (t + self.options.normalization_right_context + 1).min(source.ready());
        let (mut weights, mut sum) = (0.0, 0.0);
        for t in first..end {
            let Known { log_pitch, weight, .. } = self.know(source, t);
            weights += f64::from(weight);
            sum += f64::from(weight * log_pitch);
        }
        sum / weights
    }

    /// Slope of log pitch by regression over the frames around `t`: Σ j p(t+j) / Σ j²; ends are repeated.
    fn slope(&mut self, source: &impl PitchSource, t: usize) -> f32 {
        let (window, last) = (self.options.delta_window, source.ready() - 1);
        let (mut sum, mut squares) = (0.0, 0.0);
        for j in 1..=window {
            let later = self.know(source, (t + j).min(last)).log_pitch;
            let earlier = self.know(source, t.saturating_sub(j)).log_pitch;
            sum += j as f32 * (later - earlier);
            squares += 2.0 * (j * j) as f32;
        }
        sum / squares
    }
}
