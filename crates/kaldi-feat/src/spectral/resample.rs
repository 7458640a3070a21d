//! Signals at another sample rate: a sinc filter in a Hann window (`LinearResample` of `feat/resample.cc`).

use std::f64::consts::{PI, TAU};

use super::frames::dot;
use crate::error::{Error, Result};

/// Zeros of the sinc on each side of the window, unless the caller chooses.
const ZEROS: usize = 6;
/// Rates with less in common would need tables beyond reason.
const MOST_PHASES: u64 = 1 << 20;
/// Weights of all phases together (64 MB).
const MOST_WEIGHTS: f64 = (1 << 24) as f64;

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Weights of the input samples around one output sample.
struct Phase {
    /// The first input sample, relative to the beginning of the unit.
    first: i64,
    weights: Vec<f32>,
}

/// Resamples a signal that arrives in pieces.
pub struct Resampler {
    /// A unit is the shortest time after which input and output samples coincide again.
    inputs_of_unit: u64,
    phases: Vec<Phase>,
    ticks_of_input: u64,
    ticks_of_output: u64,
    /// Half the window.
    ticks_of_window: u64,
    /// The last samples of the input, from number `first` on.
    input: Vec<f32>,
    first: u64,
    /// Output samples so far.
    done: u64,
}

impl Resampler {
    /// Makes a resampler. `from`, `to` and the `cutoff` of the low-pass filter are in Hz.
    pub fn new(from: f32, to: f32, cutoff: f32) -> Result<Resampler> {
        Resampler::with_zeros(from, to, cutoff, ZEROS)
    }

    /// Does the same as [`Resampler::new`] with a filter of `zeros` zeros on each side. Fewer zeros are faster and less
    /// exact.
    pub fn with_zeros(from: f32, to: f32, cutoff: f32, zeros: usize) -> Result<Resampler> {
        let whole = |rate: f32| if (1.0..1e9).contains(&rate) { Some(rate as u64) } else { None };
        let (Some(rate_in), Some(rate_out)) = (whole(from), whole(to)) else {
            return Err(Error::options(format!(
                "cannot resample from {from} to {to} Hz: expected rates above 0"
            )));
        };
        let common = gcd(rate_in, rate_out);
        let (inputs_of_unit, outputs_of_unit) = (rate_in / common, rate_out / common);
        if outputs_of_unit > MOST_PHASES {
            return Err(Error::options(format!(
                "cannot resample from {rate_in} to {rate_out} Hz: their greatest common divisor is too small"
            )));
        }
        let ticks = rate_in * outputs_of_unit;
        let (cutoff_hz, zeros) = (f64::from(cutoff), zeros as f64);
        let half = zeros / (2.0 * cutoff_hz);
        if 2.0 * half * rate_in as f64 * outputs_of_unit as f64 > MOST_WEIGHTS {
            return Err(Error::options(format!(
                "cannot resample from {rate_in} to {rate_out} Hz: the table of the filter would be too large"
            )));
        }
        let filter = |t: f64| {
            let window = if t.abs() < half { 0.5 * (1.0 + (TAU * cutoff_hz / zeros * t).cos()) } else { 0.0 };
            window * if t == 0.0 { 2.0 * cutoff_hz } else { (TAU * cutoff_hz * t).sin() / (PI * t) }
        };
        let phase = |i: u64| {
            let at = i as f64 / rate_out as f64;
            let first = ((at - half) * rate_in as f64).ceil() as i64;
            let last = ((at + half) * rate_in as f64).floor() as i64;
            let weight = |n: i64| (filter(n as f64 / rate_in as f64 - at) / rate_in as f64) as f32;
            Phase { first, weights: (first..=last).map(weight).collect() }
        };
        Ok(Resampler {
            inputs_of_unit,
            phases: (0..outputs_of_unit).map(phase).collect(),
            ticks_of_input: ticks / rate_in,
            ticks_of_output: ticks / rate_out,
            ticks_of_window: (half as f32 * ticks as f32).floor() as u64,
            input: Vec::new(),
            first: 0,
            done: 0,
        })
    }

    /// Forgets the signal, for the next one.
    pub fn restart(&mut self) {
        self.input.clear();
        (self.first, self.done) = (0, 0);
    }

    /// Returns the output samples that are determined after these input samples.
    pub fn accept(&mut self, samples: &[f32]) -> Vec<f32> {
        self.input.extend(samples);
        let ticks = self.received() * self.ticks_of_input;
        let out = self.output_up_to(ticks.saturating_sub(self.ticks_of_window));
        let unit = self.done / self.phases.len() as u64 * self.inputs_of_unit;
        let needed = unit as i64 + self.phases[(self.done % self.phases.len() as u64) as usize].first;
        let gone = (needed - self.first as i64).clamp(0, self.input.len() as i64) as usize;
        self.input.drain(..gone);
        self.first += gone as u64;
        out
    }

    /// The rest of the output, after these last samples of the input.
    pub fn finish(&mut self, samples: &[f32]) -> Vec<f32> {
        self.input.extend(samples);
        self.output_up_to(self.received() * self.ticks_of_input)
    }

    fn received(&self) -> u64 {
        self.first + self.input.len() as u64
    }

    /// Output samples before this time.
    fn output_up_to(&mut self, ticks: u64) -> Vec<f32> {
        let end = ticks.div_ceil(self.ticks_of_output);
        let mut out = Vec::with_capacity(end.saturating_sub(self.done) as usize);
        while self.done < end {
            let phases = self.phases.len() as u64;
            let phase = &self.phases[(self.done % phases) as usize];
            let start = (self.done / phases * self.inputs_of_unit) as i64 + phase.first - self.first as i64;
            let len = phase.weights.len();
            // Before the signal and after it there is silence.
            let before = start.clamp(-(len as i64), 0).unsigned_abs() as usize;
            let from = start.max(0) as usize;
            let rest = self.input.get(from..).unwrap_or_default();
            let part = &rest[..rest.len().min(len - before)];
            out.push(dot(&phase.weights[before..before + part.len()], part));
            self.done += 1;
        }
        out
    }
}
