//! The highest frequency of a recording.

use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};

/// Seconds of a window, at least.
const WINDOW: f64 = 0.032;
/// Windows of a piece of sound that are looked at.
const WINDOWS: usize = 2;
/// Fewer windows with sound tell nothing.
const FEWEST: usize = 10;
/// Width of a band in Hz.
const BAND: f64 = 500.0;
/// Speech has sound in all bands up to here. (A tone has not.)
const SPEECH: f64 = 2500.0;
/// A band of speech is at most this much fainter than the mean of 500 to 2500 Hz. Recordings of people had -51 dB in their faintest band,
/// and -79 dB in bands that an MP3 of 24 kbit/s or a telephone had taken away; rounding to 16 bits is as loud as that.
const FAINTEST: f64 = 1e-7;
const FAINTEST_OF_SPEECH: f64 = 1e-5;
/// The last part of the spectrum does not count: filters of recorders take it away.
const COUNTED: f64 = 0.94;
/// A model misses bands only if they are a larger part of those that it hears.
const LARGE: f64 = 0.2;

/// The window of Blackman and Harris with four terms, at a place from 0 to 1: loud frequencies leak less than 1e-9 of their power into others.
fn blackman_harris(place: f64) -> f64 {
    let cosine = |times: f64| (std::f64::consts::TAU * times * place).cos();
    0.35875 - 0.48829 * cosine(1.0) + 0.14128 * cosine(2.0) - 0.01168 * cosine(3.0)
}

/// The mean spectrum of a recording.
pub struct Bands {
    fft: Arc<dyn RealToComplex<f32>>,
    shape: Vec<f32>,
    window: Vec<f32>,
    spectrum: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
    /// Sums of squares, by frequency.
    power: Vec<f64>,
    windows: usize,
    /// In Hz.
    rate: f64,
}

impl Bands {
    /// For sound at this rate (in Hz).
    pub fn new(rate: u32) -> Bands {
        let rate = f64::from(rate);
        let size = ((rate * WINDOW) as usize).max(2).next_power_of_two();
        let fft = RealFftPlanner::new().plan_fft_forward(size);
        let (window, spectrum, scratch) =
            (fft.make_input_vec(), fft.make_output_vec(), fft.make_scratch_vec());
        Bands {
            shape: (0..size).map(|at| blackman_harris(at as f64 / size as f64) as f32).collect(),
            power: vec![0.0; spectrum.len()],
            window,
            spectrum,
            scratch,
            fft,
            windows: 0,
            rate,
        }
    }

    /// Looks at parts of the next samples of a signal.
    pub fn add(&mut self, samples: &[f32]) {
        for part in samples.chunks((samples.len() / WINDOWS).max(1)) {
            let Some(part) = part.get(..self.shape.len()) else { continue };
            if part.iter().all(|&x| x == 0.0) {
                continue;
            }
            self.window.iter_mut().zip(part).zip(&self.shape).for_each(|((to, x), shape)| *to = x * shape);
            // (Lengths are those of the plan.)
            if self.fft.process_with_scratch(&mut self.window, &mut self.spectrum, &mut self.scratch).is_err()
            {
                continue;
            }
            self.power.iter_mut().zip(&self.spectrum).for_each(|(sum, x)| *sum += f64::from(x.norm_sqr()));
            self.windows += 1;
        }
    }

    /// Returns the frequency (in Hz) above which there is no sound, if a model that hears up to `highest` misses it.
    pub fn highest(&self, highest: f64) -> Option<f64> {
        let top = (highest.min(self.rate / 2.0) * COUNTED / BAND) as usize;
        let mean = |from: f64, to: f64| {
            let place =
                |frequency: f64| (frequency / (self.rate / 2.0) * (self.power.len() - 1) as f64) as usize;
            let part = self.power.get(place(from)..place(to)).unwrap_or(&[]);
            part.iter().sum::<f64>() / part.len().max(1) as f64
        };
        let bands: Vec<f64> =
            (1..top).map(|band| mean(band as f64 * BAND, (band + 1) as f64 * BAND)).collect();
        let speech = (SPEECH / BAND) as usize - 1;
        let reference = mean(BAND, SPEECH);
        let is_speech = |band: &f64| *band > FAINTEST_OF_SPEECH * reference;
        if self.windows < FEWEST || bands.len() <= speech || !bands[..speech].iter().all(is_speech) {
            return None;
        }
        let last = bands.iter().rposition(|&band| band > FAINTEST * reference)?;
        let end = (last + 2) as f64 * BAND;
        (end < (1.0 - LARGE) * highest.min(self.rate / 2.0)).then_some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second of noise at 16 kHz, below a frequency (in Hz), in whole numbers as in a file of 16 bits.
    fn noise(below: f64, pieces: &mut Bands) {
        let mut random = fastrand::Rng::with_seed(3);
        let tones: Vec<(f64, f64)> = (2..)
            .map(|place| f64::from(place) * 23.0)
            .take_while(|&frequency| frequency < below)
            .map(|frequency| (frequency, random.f64() * 6.0))
            .collect();
        let sample = |at: usize| -> f32 {
            let sum: f64 = tones
                .iter()
                .map(|(f, phase)| (f * at as f64 / 16000.0 * std::f64::consts::TAU + phase).sin())
                .sum();
            (sum * 300.0).round() as f32
        };
        let samples: Vec<f32> = (0..16000).map(sample).collect();
        samples.chunks(3200).for_each(|piece| pieces.add(piece));
    }

    #[test]
    fn sound_that_ends_below_the_model_s_is_found() {
        for (below, expected) in
            [(8000.0, None), (7000.0, None), (5800.0, Some(6000.0)), (3900.0, Some(4000.0))]
        {
            let mut bands = Bands::new(16000);
            noise(below, &mut bands);
            assert_eq!(bands.highest(8000.0), expected, "{below}");
            // A model of telephone speech misses nothing.
            assert_eq!(bands.highest(4000.0), None, "{below}");
        }
    }

    #[test]
    fn a_tone_silence_and_a_moment_tell_nothing() {
        let mut bands = Bands::new(16000);
        assert_eq!(bands.highest(8000.0), None);
        bands.add(&[0.0; 16000]);
        assert_eq!((bands.highest(8000.0), bands.windows), (None, 0));
        let tone: Vec<f32> = (0..16000).map(|at| 9000.0 * (at as f32 * 0.2).sin()).collect();
        tone.chunks(1600).for_each(|piece| bands.add(piece));
        assert_eq!(bands.highest(8000.0), None);
        // Sound at 8 kHz has all that there is for a model of 16 kHz, which hears it upsampled.
        let mut telephone = Bands::new(8000);
        let mut random = fastrand::Rng::with_seed(4);
        let noise: Vec<f32> = (0..8000).map(|_| random.f32() * 2000.0 - 1000.0).collect();
        noise.chunks(1600).for_each(|piece| telephone.add(piece));
        assert_eq!(telephone.highest(8000.0), None);
    }
}
