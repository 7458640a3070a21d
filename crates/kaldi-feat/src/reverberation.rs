//! Sound as if it were recorded in a room, with noise: for training data of many kinds.

use realfft::RealFftPlanner;
use realfft::num_complex::Complex;

use crate::error::{Error, Result};
use crate::wave::Wave;

/// The early reflections end this many seconds behind the peak of an impulse response, and begin [`BEFORE_PEAK`] before it.
const AFTER_PEAK: f32 = 0.05;
const BEFORE_PEAK: f32 = 0.001;
/// The largest number of samples of all channels that a wave file can have.
const MOST_SAMPLES: f64 = ((u32::MAX - 36) / 2) as f64;

/// A sound that is added.
#[derive(Debug, Clone)]
pub struct Noise {
    pub wave: Wave,
    /// Signal-to-noise ratio in dB.
    pub snr: f32,
    /// Seconds from the start of the signal to the start of the noise.
    pub start: f32,
}

/// All that is done to a recording, in the order of the fields.
#[derive(Debug, Clone)]
pub struct Reverberation {
    /// The channel that is used of the recording.
    pub input_channel: usize,
    pub impulse_response: Option<Wave>,
    pub noises: Vec<Noise>,
    /// The channels of the impulse response and of noises. `None`: one output channel for each channel of the response.
    pub channels: Option<(usize, usize)>,
    /// A factor for the result. `None`: unchanged, or see `normalize`.
    pub volume: Option<f32>,
    /// The result gets the mean energy of the recording, if `volume` is `None`.
    pub normalize: bool,
    /// The output starts at the peak of the impulse response, and has the length of the recording.
    pub shift: bool,
    /// Seconds of output; `None`: as long as the recording, or as its convolution without `shift`.
    pub duration: Option<f32>,
}

impl Reverberation {
    /// The samples of each output channel, not clipped.
    ///
    /// Fails if a channel is missing, a noise has another sampling rate, or the output would be too long for a file.
    pub fn apply(&self, recording: &Wave) -> Result<Vec<Vec<f32>>> {
        let rate = recording.sample_rate as f32;
        let tail = self.impulse_response.as_ref().map_or(0, |response| response.len() - 1);
        let channels = match self.channels {
            Some(channels) => vec![channels],
            None => (0..self.impulse_response.as_ref().map_or(1, |r| r.channels)).map(|c| (c, c)).collect(),
        };
        let length = match self.duration {
            Some(seconds) => f64::from(rate * seconds),
            None if self.shift => recording.len() as f64,
            None => (recording.len() + tail) as f64,
        };
        if !(length >= 1.0 && length * channels.len() as f64 <= MOST_SAMPLES) {
            return Err(Error::options(format!(
                "the output would have {length} samples in {} channels: expected at least one, and no more than a wave file has room for",
                channels.len()
            )));
        }
        channels
            .into_iter()
            .map(|(room, noise)| self.channel(recording, room, noise, length as usize))
            .collect()
    }

    fn channel(&self, recording: &Wave, room: usize, noise: usize, length: usize) -> Result<Vec<f32>> {
        let mut signal = channel(recording, self.input_channel, "recording")?;
        let (samples, energy) = (signal.len(), mean_square(&signal));
        let (mut early_energy, mut shift) = (energy, 0);
        if let Some(wave) = &self.impulse_response {
            let mut response = channel(wave, room, "impulse response")?;
            response.iter_mut().for_each(|x| *x /= 32768.0);
            let peak = first_largest(&response);
            early_energy = mean_square(&convolve(early(&response, peak, wave.sample_rate as f32), &signal));
            signal = convolve(&response, &signal);
            shift = if self.shift { peak } else { 0 };
        }
        for Noise { wave, snr, start } in &self.noises {
            if wave.sample_rate != recording.sample_rate {
                return Err(Error::data(format!(
                    "a noise has {} samples a second, the recording {}: expected the same",
                    wave.sample_rate, recording.sample_rate
                )));
            }
            let sound = channel(wave, noise, "noise")?;
            let scale =
                (10f32.powf(-snr / 10.0) * early_energy / (mean_square(&sound) + f32::EPSILON)).sqrt();
            let first = (start * recording.sample_rate as f32) as usize;
            signal.iter_mut().skip(first).zip(&sound).for_each(|(x, n)| *x += scale * n);
        }
        let scale = match (self.volume, mean_square(&signal)) {
            (Some(volume), _) => volume,
            (None, result) if self.normalize && result > 0.0 => (energy / result).sqrt(),
            _ => 1.0,
        };
        signal.iter_mut().for_each(|x| *x *= scale);
        let period = if length <= samples { length } else { samples };
        Ok(signal[shift..shift + period].iter().copied().cycle().take(length).collect())
    }
}

fn channel(wave: &Wave, channel: usize, what: &str) -> Result<Vec<f32>> {
    if channel >= wave.channels {
        return Err(Error::data(format!(
            "channel {channel} of the {what}: it has {} channels",
            wave.channels
        )));
    }
    Ok(wave.channel(channel))
}

fn mean_square(signal: &[f32]) -> f32 {
    let sum: f64 = signal.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    (sum / signal.len().max(1) as f64) as f32
}

fn first_largest(values: &[f32]) -> usize {
    let later = |best: usize, i: usize| if values[i] > values[best] { i } else { best };
    (0..values.len()).reduce(later).unwrap_or(0)
}

/// The direct sound and the early reflections.
fn early(response: &[f32], peak: usize, rate: f32) -> &[f32] {
    let first = (peak as f32 - BEFORE_PEAK * rate).max(0.0) as usize;
    let end = (peak as f32 + AFTER_PEAK * rate) as usize;
    // A rate at which there is no whole sample in this time leaves the peak.
    &response[first..end.clamp(peak + 1, response.len())]
}

/// Convolves a signal with a filter, block by block (overlap-add). Both have at least one sample. The result's length
/// is the sum of both lengths, minus 1.
///
/// As in the reference, the values at 0 and at half the sampling rate are multiplied like one complex number. From d
/// and q of one spectrum, and d' and q' of the other, they become d·d' − q·q' and d·q' + q·d'. So the result differs a
/// little from the convolution.
fn convolve(filter: &[f32], signal: &[f32]) -> Vec<f32> {
    let size = (4 * filter.len()).next_power_of_two();
    let block = size - filter.len() + 1;
    let mut planner = RealFftPlanner::<f32>::new();
    let (forward, backward) = (planner.plan_fft_forward(size), planner.plan_fft_inverse(size));
    let mut time = forward.make_input_vec();
    let [mut response, mut spectrum] = [forward.make_output_vec(), forward.make_output_vec()];
    let transform = |values: &[f32], time: &mut [f32], spectrum: &mut [Complex<f32>]| {
        time[..values.len()].copy_from_slice(values);
        time[values.len()..].fill(0.0);
        let done = forward.process(time, spectrum);
        debug_assert!(done.is_ok(), "all buffers were made for this length");
    };
    transform(filter, &mut time, &mut response);
    let packed = |spectrum: &[Complex<f32>]| Complex::new(spectrum[0].re, spectrum[size / 2].re);
    let mut out = vec![0.0; signal.len() + filter.len() - 1];
    for (k, part) in signal.chunks(block).enumerate() {
        transform(part, &mut time, &mut spectrum);
        let ends = packed(&spectrum) * packed(&response);
        spectrum.iter_mut().zip(&response).for_each(|(x, r)| *x *= r);
        (spectrum[0], spectrum[size / 2]) = (ends.re.into(), ends.im.into());
        let done = backward.process(&mut spectrum, &mut time);
        debug_assert!(done.is_ok(), "the first and the last value are real");
        out[k * block..].iter_mut().zip(&time).for_each(|(x, y)| *x += y / size as f32);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;
    use std::f64::consts::TAU;

    /// Computes the same by sums over all pairs, in double precision.
    fn slowly(filter: &[f32], signal: &[f32]) -> Vec<f64> {
        let size = (4 * filter.len()).next_power_of_two();
        let block = size - filter.len() + 1;
        let mut out = vec![0.0; signal.len() + filter.len() - 1];
        let sums = |x: &[f32]| {
            let even: f64 = x.iter().step_by(2).map(|&x| f64::from(x)).sum();
            let odd: f64 = x.iter().skip(1).step_by(2).map(|&x| f64::from(x)).sum();
            (even + odd, even - odd)
        };
        for (k, part) in signal.chunks(block).enumerate() {
            let ((d, q), (d2, q2)) = (sums(filter), sums(part));
            for t in 0..size.min(out.len() - k * block) {
                let product = |i: usize, &x: &f32| {
                    t.checked_sub(i).and_then(|j| part.get(j)).map_or(0.0, |&y| f64::from(x) * f64::from(y))
                };
                let plain: f64 = filter.iter().enumerate().map(|(i, x)| product(i, x)).sum();
                let half = (TAU / 2.0 * t as f64).cos();
                let fault = (-q * q2) + (d * q2 + q * d2 - q * q2) * half;
                out[k * block + t] += plain + fault / size as f64;
            }
        }
        out
    }

    #[test]
    fn convolution_with_the_fault_of_the_reference() {
        for (filter, samples) in [(1, 1), (3, 5), (5, 100), (4, 13)] {
            let filter: Vec<f32> = (0..filter).map(|i| 1.0 / (1.0 + i as f32) - 0.3).collect();
            let signal: Vec<f32> = (0..samples).map(|i| ((i * 37) % 19) as f32 - 8.0).collect();
            assert_close(&convolve(&filter, &signal), &slowly(&filter, &signal), 1e-4);
        }
    }

    fn wave(channels: usize, samples: &[i16]) -> Wave {
        Wave { sample_rate: 1000, channels, samples: samples.to_vec(), complaint: None }
    }

    fn plain() -> Reverberation {
        Reverberation {
            input_channel: 0,
            impulse_response: None,
            noises: vec![],
            channels: Some((0, 0)),
            volume: None,
            normalize: false,
            shift: true,
            duration: None,
        }
    }

    #[test]
    fn noise_has_its_energy_and_its_place() {
        let noise = Noise { wave: wave(1, &[4, -4]), snr: 10.0, start: 0.001 };
        let mut change = Reverberation { noises: vec![noise], ..plain() };
        // Mean squares 100 and 16: at 10 dB the noise gets 10.
        let level = 10f64.sqrt();
        let out = change.apply(&wave(1, &[10, 10, -10, 10])).unwrap();
        assert_close(&out[0], &[10.0, 10.0 + level, -10.0 - level, 10.0], 1e-4);
        (change.volume, change.duration) = (Some(2.0), Some(0.006));
        let out = change.apply(&wave(1, &[10, 10, -10, 10])).unwrap();
        let (high, low) = (20.0 + 2.0 * level, -20.0 - 2.0 * level);
        assert_close(&out[0], &[20.0, high, low, 20.0, 20.0, high], 1e-4);
    }

    #[test]
    fn energy_is_that_of_the_recording() {
        let noise = Noise { wave: wave(1, &[3; 9]), snr: -20.0, start: 0.0 };
        let change = Reverberation { noises: vec![noise], normalize: true, ..plain() };
        let out = change.apply(&wave(1, &[5, 5, -5])).unwrap();
        assert!((mean_square(&out[0]) - 25.0).abs() < 1e-3);
        let silence = Reverberation { normalize: true, ..plain() }.apply(&wave(1, &[0, 0])).unwrap();
        assert_eq!(silence, [[0.0, 0.0]]);
    }

    #[test]
    fn channels_begin_at_their_peaks() {
        // The first channel has its peak at 0, the second at 2.
        let response = wave(2, &[16384, 0, 0, 8192, 0, 16384]);
        let recording = wave(1, &[100, -50, 25, 75, -20]);
        let change = Reverberation { impulse_response: Some(response.clone()), channels: None, ..plain() };
        let out = change.apply(&recording).unwrap();
        let signal = recording.channel(0);
        for (c, peak) in [(0, 0), (1, 2)] {
            let filter: Vec<f32> = response.channel(c).iter().map(|x| x / 32768.0).collect();
            assert_close(&out[c], &slowly(&filter, &signal)[peak..peak + 5], 1e-4);
        }
        let whole = Reverberation { shift: false, ..change }.apply(&recording).unwrap();
        assert_eq!(whole[0].len(), 7);
        // Behind the recording it begins again.
        assert_eq!(whole[1][5..], whole[1][..2]);
    }

    #[test]
    fn refusals() {
        let recording = wave(1, &[1, 2, 3]);
        let other = Noise { wave: Wave { sample_rate: 8000, ..recording.clone() }, snr: 0.0, start: 0.0 };
        for (change, words) in [
            (Reverberation { input_channel: 1, ..plain() }, "channel 1 of the recording: it has 1 channels"),
            (Reverberation { noises: vec![other], ..plain() }, "a noise has 8000 samples a second"),
            (Reverberation { duration: Some(1e20), ..plain() }, "the output would have"),
        ] {
            let error = change.apply(&recording).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
