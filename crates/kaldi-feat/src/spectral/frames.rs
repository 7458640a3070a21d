//! Frames of a signal: their positions, and their processing before the Fourier transform.

use std::str::FromStr;

use super::noise::Noise;
use crate::error::{Error, Result};

/// Smallest energy for a logarithm.
pub(super) const EPSILON: f32 = f32::EPSILON;
/// More samples a frame than anybody can mean.
const MOST_SAMPLES: f64 = 16_777_216.0;

/// The shape of a frame's weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowType {
    Hamming,
    Hanning,
    Povey,
    Rectangular,
    Sine,
    Blackman,
}

impl FromStr for WindowType {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "hamming" => WindowType::Hamming,
            "hanning" => WindowType::Hanning,
            "povey" => WindowType::Povey,
            "rectangular" => WindowType::Rectangular,
            "sine" => WindowType::Sine,
            "blackman" => WindowType::Blackman,
            _ => {
                return Err(Error::options(format!(
                    "'{name}': expected hamming, hanning, povey, rectangular, sine or blackman"
                )));
            }
        })
    }
}

/// Options for cutting a signal into frames.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameOptions {
    /// The sample rate of the signal, in Hz.
    pub sample_rate: f32,
    /// In milliseconds.
    pub length: f32,
    /// In milliseconds.
    pub shift: f32,
    /// Standard deviation of the noise that is added; 0 for none.
    pub dither: f32,
    /// Between 0 and 1.
    pub preemphasis: f32,
    /// Subtract a frame's mean from it.
    pub remove_dc_offset: bool,
    pub window: WindowType,
    /// The coefficient of [`WindowType::Blackman`].
    pub blackman_coefficient: f32,
    /// Pad frames with zeros to a power of two for the Fourier transform.
    pub round_to_power_of_two: bool,
    /// True if only frames that lie completely in the signal are computed. Otherwise the signal is reflected at its
    /// ends.
    pub snip_edges: bool,
    /// Take signals of a higher rate, by resampling.
    pub allow_downsample: bool,
    /// Take signals of a lower rate, by resampling.
    pub allow_upsample: bool,
    /// Number of latest frames that a [`super::FeatureStream`] keeps; `None` keeps all.
    pub max_feature_vectors: Option<usize>,
}

impl Default for FrameOptions {
    fn default() -> Self {
        FrameOptions {
            sample_rate: 16000.0,
            length: 25.0,
            shift: 10.0,
            dither: 1.0,
            preemphasis: 0.97,
            remove_dc_offset: true,
            window: WindowType::Povey,
            blackman_coefficient: 0.42,
            round_to_power_of_two: true,
            snip_edges: true,
            allow_downsample: false,
            allow_upsample: false,
            max_feature_vectors: None,
        }
    }
}

impl FrameOptions {
    /// The usual options at this rate (in Hz).
    pub fn at(rate: f32) -> FrameOptions {
        FrameOptions { sample_rate: rate, ..FrameOptions::default() }
    }

    fn samples(&self, milliseconds: f32) -> usize {
        (f64::from(self.sample_rate) * 0.001 * f64::from(milliseconds)) as usize
    }

    /// Samples between the beginnings of two frames.
    pub(crate) fn shift_samples(&self) -> usize {
        self.samples(self.shift)
    }

    /// Samples of a frame.
    pub(crate) fn length_samples(&self) -> usize {
        self.samples(self.length)
    }

    /// Samples of a frame with its padding.
    pub(crate) fn padded_samples(&self) -> usize {
        let length = self.length_samples();
        if self.round_to_power_of_two { length.next_power_of_two() } else { length }
    }

    pub(super) fn check(&self) -> Result<()> {
        let positive = |x: f32| x > 0.0 && f64::from(x) <= MOST_SAMPLES;
        if !positive(self.sample_rate) {
            return Err(Error::options(format!("invalid sample frequency of {} Hz", self.sample_rate)));
        }
        for (name, value) in [("length", self.length), ("shift", self.shift)] {
            let samples = f64::from(self.sample_rate) * 0.001 * f64::from(value);
            if !positive(value) || !(1.0..=MOST_SAMPLES).contains(&samples) {
                return Err(Error::options(format!(
                    "invalid frame {name} of {value} ms, which is {samples} samples at {} Hz",
                    self.sample_rate
                )));
            }
        }
        let padded = self.padded_samples();
        if self.length_samples() < 2 || !padded.is_multiple_of(2) {
            return Err(Error::options(format!(
                "frames of {padded} samples: expected an even number (`round-to-power-of-two`=true pads them)"
            )));
        }
        if !(0.0..=1.0).contains(&self.preemphasis) {
            return Err(Error::options(format!(
                "a preemphasis coefficient of {}: expected one between 0 and 1",
                self.preemphasis
            )));
        }
        Ok(())
    }

    /// Returns the number of the first sample of frame `t`. It is negative if the frame reaches into the reflected
    /// beginning.
    pub(super) fn first_sample(&self, t: usize) -> i64 {
        let shift = self.shift_samples() as i64;
        let start = t as i64 * shift;
        if self.snip_edges { start } else { start + shift / 2 - self.length_samples() as i64 / 2 }
    }

    /// Returns the number of frames for `samples` samples. If `complete`, the signal ends with them; otherwise it
    /// continues.
    pub(super) fn count(&self, samples: u64, complete: bool) -> usize {
        let (length, shift) = (self.length_samples() as u64, self.shift_samples() as u64);
        if self.snip_edges {
            return if samples < length { 0 } else { (1 + (samples - length) / shift) as usize };
        }
        let frames = ((samples + shift / 2) / shift) as usize;
        if complete {
            return frames;
        }
        let ends_inside = |t: usize| self.first_sample(t) + length as i64 <= samples as i64;
        (0..=frames).rev().find(|&n| n == 0 || ends_inside(n - 1)).unwrap_or(0)
    }

    fn weights(&self) -> Vec<f32> {
        let length = self.length_samples();
        let a = std::f64::consts::TAU / (length - 1) as f64;
        let blackman = f64::from(self.blackman_coefficient);
        let weight = |i: usize| {
            let x = a * i as f64;
            match self.window {
                WindowType::Hanning => 0.5 - 0.5 * x.cos(),
                WindowType::Sine => (0.5 * x).sin(),
                WindowType::Hamming => 0.54 - 0.46 * x.cos(),
                WindowType::Povey => (0.5 - 0.5 * x.cos()).powf(0.85),
                WindowType::Rectangular => 1.0,
                WindowType::Blackman => blackman - 0.5 * x.cos() + (0.5 - blackman) * (2.0 * x).cos(),
            }
        };
        (0..length).map(|i| weight(i) as f32).collect()
    }
}

/// The sum of products, in eight parts, which compilers make vectors of.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_parts, a_rest) = a.as_chunks::<8>();
    let (b_parts, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (x, y) in a_parts.iter().zip(b_parts) {
        (0..8).for_each(|i| sums[i] += x[i] * y[i]);
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f32>() + rest
}

fn sum(a: &[f32]) -> f32 {
    let (parts, rest) = a.as_chunks::<8>();
    let mut sums = [0.0; 8];
    parts.iter().for_each(|x| (0..8).for_each(|i| sums[i] += x[i]));
    sums.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

pub(super) fn log_energy(frame: &[f32]) -> f32 {
    dot(frame, frame).max(EPSILON).ln()
}

/// Cuts frames out of a signal and weights them.
pub(super) struct Framer {
    pub options: FrameOptions,
    weights: Vec<f32>,
    noise: Noise,
}

impl Framer {
    pub fn new(options: FrameOptions) -> Result<Framer> {
        options.check()?;
        let weights = options.weights();
        Ok(Framer { options, weights, noise: Noise::new() })
    }

    /// Writes frame `t`, ready for the Fourier transform, to `frame`, and sets its padding to zero. The first `offset`
    /// samples of the signal have been dropped. Returns its logarithmic energy before preemphasis and weights.
    pub fn cut(&mut self, signal: &[f32], offset: u64, t: usize, frame: &mut [f32]) -> f32 {
        let (body, padding) = frame.split_at_mut(self.weights.len());
        padding.fill(0.0);
        let start = self.options.first_sample(t) - offset as i64;
        let whole = usize::try_from(start).ok().and_then(|start| signal.get(start..start + body.len()));
        match whole {
            Some(samples) => body.copy_from_slice(samples),
            None => (start..).zip(&mut *body).for_each(|(at, x)| *x = signal[reflected(at, signal.len())]),
        }
        if self.options.dither != 0.0 {
            self.noise.add_to(body, self.options.dither);
        }
        if self.options.remove_dc_offset {
            let mean = sum(body) / body.len() as f32;
            body.iter_mut().for_each(|x| *x -= mean);
        }
        let energy = log_energy(body);
        let c = self.options.preemphasis;
        if c != 0.0 {
            for i in (1..body.len()).rev() {
                body[i] -= c * body[i - 1];
            }
            body[0] -= c * body[0];
        }
        body.iter_mut().zip(&self.weights).for_each(|(x, w)| *x *= w);
        energy
    }
}

/// The sample that stands for one before the first or after the last: -1 for 0, `len` for `len - 1`.
fn reflected(mut at: i64, len: usize) -> usize {
    let len = len as i64;
    loop {
        if at < 0 {
            at = -at - 1;
        } else if at >= len {
            at = 2 * len - 1 - at;
        } else {
            return at as usize;
        }
    }
}
