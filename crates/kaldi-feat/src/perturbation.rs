//! Sound at another speed and volume: for training data of more kinds.

use crate::error::{Error, Result};
use crate::spectral::Resampler;
use crate::wave::Wave;

/// The low-pass filter cuts at this part of the lower Nyquist frequency.
const CUTOFF: f32 = 0.99;
/// Limits of the speed: beyond them, speech is none.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.1..=10.0;

/// A change of speed, then of volume.
#[derive(Debug, Clone, Copy)]
pub struct Perturbation {
    speed: f64,
    volume: f32,
}

impl Perturbation {
    /// Makes a perturbation. With a `speed` of 1.1, sound takes 1 / 1.1 of the time, and all frequencies are 1.1 times as
    /// high. Samples are multiplied by `volume`.
    ///
    /// Fails if `speed` is not from 0.1 to 10, or `volume` is not finite and at least 0.
    pub fn new(speed: f64, volume: f32) -> Result<Perturbation> {
        if !SPEEDS.contains(&speed) {
            return Err(Error::options(format!("a speed of {speed}: expected one from 0.1 to 10")));
        }
        if !(volume.is_finite() && volume >= 0.0) {
            return Err(Error::options(format!("a volume of {volume}: expected a finite one, at least 0")));
        }
        Ok(Perturbation { speed, volume })
    }

    /// Returns the samples of each channel, not clipped. The sample rate stays.
    ///
    /// Samples are taken as those of a recording at `rate * speed` Hz, rounded to a whole number, which is resampled to
    /// `rate` Hz. Fails if the rate is too low for that.
    pub fn apply(&self, recording: &Wave) -> Result<Vec<Vec<f32>>> {
        let to = recording.sample_rate as f32;
        let from = (f64::from(recording.sample_rate) * self.speed).round() as f32;
        let mut resampler = match self.speed == 1.0 {
            true => None,
            false => Some(Resampler::new(from, to, CUTOFF * 0.5 * from.min(to))?),
        };
        let channel = |channel| {
            let mut samples = recording.channel(channel);
            if let Some(resampler) = &mut resampler {
                resampler.restart();
                samples = resampler.finish(&samples);
            }
            samples.iter_mut().for_each(|sample| *sample *= self.volume);
            samples
        };
        Ok((0..recording.channels).map(channel).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 8000;

    fn tone(hz: f64, length: usize) -> Wave {
        let sample =
            |i: usize| (3000.0 * (std::f64::consts::TAU * hz * i as f64 / f64::from(RATE)).sin()) as f32;
        Wave::from_channels(RATE, &[(0..length).map(sample).collect()]).0
    }

    /// A tone at another speed is another tone of another length.
    #[test]
    fn speed_is_that_of_a_tape() {
        for (speed, length) in [(0.9, 8889), (1.1, 7273), (1.037, 7715), (2.0, 4000)] {
            let found = Perturbation::new(speed, 0.5).unwrap().apply(&tone(440.0, 8000)).unwrap();
            let expected = tone(440.0 * speed, length).channel(0);
            assert_eq!((found.len(), found[0].len()), (1, length), "{speed}");
            // Within the filter's length of the ends, the signal's edges are heard.
            for i in 50..length - 50 {
                assert!(
                    (found[0][i] - 0.5 * expected[i]).abs() < 15.0,
                    "{speed} {i} {} {}",
                    found[0][i],
                    expected[i]
                );
            }
        }
    }

    #[test]
    fn volume_alone_keeps_each_sample() {
        let wave = Wave::from_channels(RATE, &[vec![1.0, -2.0, 300.0], vec![0.0, 5.0, 7.0]]).0;
        let found = Perturbation::new(1.0, 2.0).unwrap().apply(&wave).unwrap();
        assert_eq!(found, [[2.0, -4.0, 600.0], [0.0, 10.0, 14.0]]);
    }

    #[test]
    fn impossible_settings_are_refused() {
        for (speed, volume) in
            [(0.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0), (11.0, 1.0), (1.0, -0.1), (1.0, f32::INFINITY)]
        {
            assert!(Perturbation::new(speed, volume).is_err(), "{speed} {volume}");
        }
    }
}
