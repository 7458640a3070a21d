//! One signal of a recording, at a chosen rate.

use kaldi_feat::spectral::Resampler;

use crate::{Channels, Error, Result, SoundStream, Warning};

/// Samples that are read at once.
const PIECE: usize = 1 << 14;

/// One channel of a recording, or the mean of all.
pub struct Signal {
    stream: SoundStream,
    channel: [Option<usize>; 1],
    resampler: Option<Resampler>,
    rate: u32,
    /// Samples at the chosen rate that were not returned yet.
    ready: Vec<f32>,
    has_ended: bool,
}

impl Signal {
    /// Chooses the first of the signals of `channels`. `rate` in Hz is the recording's own if it is `None`.
    ///
    /// # Errors
    /// A channel that the recording does not have, a rate out of range.
    pub fn new(stream: SoundStream, channels: Channels, rate: Option<u32>) -> Result<Signal> {
        let channel = stream.signals(channels)?.first().copied().unwrap_or(Some(0));
        let own = stream.sample_rate();
        let rate = rate.unwrap_or(own);
        let resampler = (rate != own).then(|| {
            // (As much of the spectrum as both rates have, but for the slope of the filter.)
            let cutoff = 0.99 * 0.5 * own.min(rate) as f32;
            Resampler::new(own as f32, rate as f32, cutoff)
        });
        let failed = |source| Error::Resampling { file: stream.name().to_owned(), source };
        let resampler = resampler.transpose().map_err(failed)?;
        Ok(Signal { stream, channel: [channel], resampler, rate, ready: Vec::new(), has_ended: false })
    }

    /// In Hz.
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// Reads up to `most` samples, unscaled (16 bits). Empty only at the end.
    ///
    /// # Errors
    /// The input cannot be read or decoded.
    pub fn read(&mut self, most: usize) -> Result<Vec<f32>> {
        while self.ready.is_empty() && !self.has_ended {
            let samples = self.stream.read(PIECE, &self.channel)?.pop().unwrap_or_default();
            self.has_ended = samples.is_empty();
            self.ready = match &mut self.resampler {
                None => samples,
                Some(resampler) if self.has_ended => resampler.finish(&samples),
                Some(resampler) => resampler.accept(&samples),
            };
        }
        let rest = self.ready.split_off(most.min(self.ready.len()));
        Ok(std::mem::replace(&mut self.ready, rest))
    }

    /// Reads all samples.
    ///
    /// # Errors
    /// The input cannot be read or decoded.
    pub fn read_to_end(&mut self) -> Result<Vec<f32>> {
        let mut all = Vec::new();
        loop {
            let samples = self.read(PIECE)?;
            if samples.is_empty() {
                return Ok(all);
            }
            all.extend(samples);
        }
    }

    /// Says what is missing, once all of it was read.
    pub fn warnings(&self) -> Vec<Warning> {
        self.stream.warnings()
    }

    /// Closes the input; fails if it is a pipe and its command failed.
    ///
    /// # Errors
    /// The input is a pipe, and its command failed.
    pub fn close(self) -> Result<()> {
        self.stream.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_io::KaldiReader;

    /// A tone of 500 Hz at 16 kHz on the second of two channels.
    fn stream() -> SoundStream {
        let mut bytes = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0".to_vec();
        bytes.extend(16000u32.to_le_bytes());
        bytes.extend(64000u32.to_le_bytes());
        bytes.extend(b"\x04\0\x10\0data\0\0\0\0");
        for n in 0..16000 {
            let tone =
                (1000.0 * (std::f64::consts::TAU * 500.0 * f64::from(n) / 16000.0).sin()).round() as i16;
            bytes.extend(0i16.to_le_bytes());
            bytes.extend(tone.to_le_bytes());
        }
        SoundStream::from_reader(KaldiReader::from_bytes("tone", bytes)).unwrap()
    }

    #[test]
    fn a_tone_stays_the_same_tone_at_another_rate() {
        for rate in [8000, 11025, 44100] {
            let mut signal = Signal::new(stream(), Channels::Number(2), Some(rate)).unwrap();
            let samples = signal.read_to_end().unwrap();
            assert!(samples.len().abs_diff(rate as usize) <= 1, "{rate}: {}", samples.len());
            for (n, &sample) in samples.iter().enumerate().skip(100).take(rate as usize / 2) {
                let expected = 1000.0 * (std::f64::consts::TAU * 500.0 * n as f64 / f64::from(rate)).sin();
                assert!((f64::from(sample) - expected).abs() < 10.0, "{rate}, {n}: {sample} {expected}");
            }
        }
        let mut mix = Signal::new(stream(), Channels::Mix, None).unwrap();
        assert_eq!((mix.rate(), mix.read(3).unwrap().len()), (16000, 3));
        assert_eq!(mix.read_to_end().unwrap().len(), 15997);
        assert!(Signal::new(stream(), Channels::Number(3), None).is_err());
    }
}
