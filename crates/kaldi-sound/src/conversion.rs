//! Sound whose rate or number of channels changes in the middle: all of it is given as at the beginning.

use kaldi_feat::spectral::Resampler;

use crate::{Error, RATES, Result};

/// The share of the smaller of both halves of rates that the low-pass filter keeps.
const KEPT: f32 = 0.99;

/// Gives all sound at the rate, and with the channels, of the first.
pub(crate) struct Conversion {
    file: String,
    /// Rate in Hz, and number of channels, of all that is given.
    to: Option<(u32, usize)>,
    /// Those of the sound that comes.
    from: (u32, usize),
    /// A resampler for each channel, if the rate differs.
    resamplers: Vec<Resampler>,
}

impl Conversion {
    pub fn new(file: &str) -> Conversion {
        Conversion { file: file.to_owned(), to: None, from: (0, 0), resamplers: Vec::new() }
    }

    /// Rate in Hz, and number of channels, of all that is given. 0 before the first samples.
    pub fn form(&self) -> (u32, usize) {
        self.to.unwrap_or((0, 0))
    }

    /// Appends samples with this rate and these channels to `out`.
    pub fn add(&mut self, rate: u32, channels: usize, samples: &[i16], out: &mut Vec<i16>) -> Result<()> {
        let to = *self.to.get_or_insert((rate, channels));
        if self.from != (rate, channels) {
            self.change(rate, channels, to, out)?;
        }
        let mapped;
        let samples = if channels == to.1 {
            samples
        } else {
            mapped = map(samples, channels, to.1);
            &mapped
        };
        if self.resamplers.is_empty() {
            out.extend_from_slice(samples);
        } else {
            self.resample(samples, false, out);
        }
        Ok(())
    }

    /// Appends the rest of the samples so far.
    pub fn finish(&mut self, out: &mut Vec<i16>) {
        if !self.resamplers.is_empty() {
            self.resample(&[], true, out);
            self.resamplers.iter_mut().for_each(Resampler::restart);
        }
    }

    fn change(&mut self, rate: u32, channels: usize, to: (u32, usize), out: &mut Vec<i16>) -> Result<()> {
        if !RATES.contains(&rate) {
            return Err(Error::Rate { file: self.file.clone(), rate });
        }
        if self.from.0 != rate {
            self.finish(out);
            self.resamplers.clear();
            if rate != to.0 {
                let cutoff = KEPT * 0.5 * rate.min(to.0) as f32;
                let resampler = || Resampler::new(rate as f32, to.0 as f32, cutoff);
                let all: std::result::Result<_, _> = (0..to.1).map(|_| resampler()).collect();
                self.resamplers = all.map_err(|_| Error::Rate { file: self.file.clone(), rate })?;
            }
        }
        self.from = (rate, channels);
        Ok(())
    }

    fn resample(&mut self, samples: &[i16], end: bool, out: &mut Vec<i16>) {
        let count = self.resamplers.len();
        let converted: Vec<Vec<f32>> = self
            .resamplers
            .iter_mut()
            .enumerate()
            .map(|(channel, resampler)| {
                let one: Vec<f32> = samples.iter().skip(channel).step_by(count).map(|&x| x.into()).collect();
                if end { resampler.finish(&one) } else { resampler.accept(&one) }
            })
            .collect();
        for t in 0..converted.first().map_or(0, Vec::len) {
            out.extend(converted.iter().map(|channel| channel[t].round() as i16));
        }
    }
}

/// Samples with another number of channels. One channel becomes the mean of all. Further channels repeat the mean.
fn map(samples: &[i16], from: usize, to: usize) -> Vec<i16> {
    let mut out = Vec::with_capacity(samples.len() / from * to);
    for frame in samples.chunks_exact(from) {
        let mean = (frame.iter().map(|&x| i64::from(x)).sum::<i64>() as f64 / from as f64).round() as i16;
        out.extend(
            (0..to).map(|channel| if to == 1 { mean } else { frame.get(channel).copied().unwrap_or(mean) }),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_comes_at_the_first_rate_and_with_the_first_channels() {
        let mut conversion = Conversion::new("f");
        let mut out = Vec::new();
        let tone = |rate: f32, count: usize| -> Vec<i16> {
            (0..count)
                .map(|t| (10_000.0 * (t as f32 * 440.0 * std::f32::consts::TAU / rate).sin()) as i16)
                .collect()
        };
        conversion.add(8000, 1, &tone(8000.0, 8000), &mut out).unwrap();
        let stereo: Vec<i16> = tone(16000.0, 16000).iter().flat_map(|&x| [x, x]).collect();
        for piece in stereo.chunks(700) {
            conversion.add(16000, 2, piece, &mut out).unwrap();
        }
        conversion.add(8000, 1, &tone(8000.0, 800), &mut out).unwrap();
        conversion.finish(&mut out);
        assert_eq!((conversion.form(), out.len()), ((8000, 1), 16_800));
        let expected = tone(8000.0, 8000);
        for t in 100..7900 {
            assert!((i32::from(out[8000 + t]) - i32::from(expected[t])).abs() < 200, "{t}");
        }
        let error = conversion.add(16_777_213, 1, &[0], &mut out).unwrap_err();
        assert_eq!(
            error.to_string(),
            "f: expected a sampling rate from 1000 to 192000 Hz, found 16777213 Hz"
        );
    }

    #[test]
    fn channels() {
        assert_eq!(map(&[10, 20, -3, -4], 2, 1), [15, -4]);
        assert_eq!(map(&[7, 8], 1, 2), [7, 7, 8, 8]);
        assert_eq!(map(&[1, 2, 3], 3, 2), [1, 2]);
    }
}
