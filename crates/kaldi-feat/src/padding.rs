//! Silence before and after the words of cut recordings: digital silence (zeros), and the quiet noise of rooms and devices.
//!
//! Training data of single words are often cut where the words begin and end. A model of them has never heard a pause, and takes it for sounds.
//! Noise lies under the words, too: a network that hears another noise in pauses than in the closure of a stop tells them apart by the noise.

use kaldi_io::DenseMatrix;
use kaldi_numerics::log_sums::{log_add, log_sum};

use crate::augmentation::{Augmentation, COLOUR_OF_NOISE, DECIBEL, Draw, FLOOR, loudness};
use crate::error::{Error, Result};

/// Amounts and kinds of the silence that utterances get at random.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Silence {
    /// Part of the utterances that get silence.
    pub part: f64,
    /// The fewest frames that an utterance gets on each side. Numbers are uniform from here to `most_frames`.
    pub least_frames: usize,
    /// The most frames that an utterance gets on each side.
    pub most_frames: usize,
    /// Frames before the words are a multiple of this, so that a network with one output for so many frames has them at the same places.
    pub multiple: usize,
    /// Part of the silence that is digital.
    pub digital: f64,
    /// The lowest and the highest ratio of the loud frames of the speech to the noise of silence that is not digital, in decibels. (Noise of
    /// 10 dB is as loud as fricatives, which a network then takes for silence.)
    pub snr: (f64, f64),
}

impl Default for Silence {
    fn default() -> Silence {
        Silence { part: 0.5, least_frames: 1, most_frames: 60, multiple: 1, digital: 0.5, snr: (25.0, 60.0) }
    }
}

impl Silence {
    /// Checks the settings.
    ///
    /// # Errors
    /// A part is not from 0 to 1, or a range is empty.
    pub fn check(&self) -> Result<()> {
        for (name, value) in
            [("a part of utterances", self.part), ("a part of digital silence", self.digital)]
        {
            if !(0.0..=1.0).contains(&value) {
                return Err(Error::options(format!("{name} of {value}: expected 0 to 1")));
            }
        }
        if self.multiple == 0 || self.most_frames < self.multiple {
            let message = format!(
                "at most {} frames of silence in steps of {}: expected a step or more",
                self.most_frames, self.multiple
            );
            return Err(Error::options(message));
        }
        if self.least_frames > self.most_frames {
            let message = format!(
                "from {} to {} frames of silence: expected a range",
                self.least_frames, self.most_frames
            );
            return Err(Error::options(message));
        }
        let (low, high) = self.snr;
        if !(low <= high && low >= -60.0 && high <= 200.0) {
            return Err(Error::options(format!(
                "ratios from {low} to {high} dB: expected a range within -60 to 200"
            )));
        }
        Ok(())
    }

    /// Returns the features, `[frames, dim]`, with silence around them, and the frames before and after, or `None` if this utterance gets
    /// none. The silence depends on the key of the utterance and the seed only.
    ///
    /// # Errors
    /// If there are not as many columns as the features of `made` have.
    pub fn around(
        &self,
        features: &DenseMatrix<f32>,
        made: &Augmentation,
        key: &str,
        seed: u64,
    ) -> Result<Option<(DenseMatrix<f32>, [usize; 2])>> {
        let bins = made.dim();
        if features.cols != bins {
            return Err(Error::data(format!("there are {} columns: expected {bins}", features.cols)));
        }
        let mut draw = Draw::new(key, 0, seed);
        if features.rows == 0 || draw.between(0.0, 1.0) >= self.part {
            return Ok(None);
        }
        let choices = (self.most_frames - self.least_frames + 1) as f64;
        let mut frames = || (draw.between(0.0, choices) as usize + self.least_frames).min(self.most_frames);
        let (before, after) = (frames(), frames());
        let before =
            before.next_multiple_of(self.multiple).min(self.most_frames / self.multiple * self.multiple);
        let is_digital = draw.between(0.0, 1.0) < self.digital;
        let mut words: Vec<f64> = features.data.iter().map(|&x| f64::from(x)).collect();
        let mut row = vec![0.0; bins];
        for frame in words.chunks_exact_mut(bins) {
            made.to_energies(frame, &mut row);
            frame.copy_from_slice(&row);
        }
        let level =
            (!is_digital).then(|| loudness(&words, bins) - draw.between(self.snr.0, self.snr.1) * DECIBEL);
        let colour = draw.colour(&COLOUR_OF_NOISE, bins);
        let whole = log_sum(&colour);
        let mut data = Vec::with_capacity((before + features.rows + after) * bins);
        let silence = vec![FLOOR; bins];
        let around = |frames: usize| std::iter::repeat_n(&silence[..], frames);
        for energies in around(before).chain(words.chunks_exact(bins)).chain(around(after)) {
            let mut frame = energies.to_vec();
            if let Some(level) = level {
                for (x, colour) in frame.iter_mut().zip(&colour) {
                    *x = log_add(*x, level + colour - whole + draw.energy_of_noise());
                }
            }
            made.to_features(&mut frame, &mut row);
            data.extend(frame.iter().map(|&x| x as f32));
        }
        Ok(Some((DenseMatrix { rows: before + features.rows + after, cols: bins, data }, [before, after])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::augmentation::Ranges;
    use crate::spectral::{EnergyOptions, Extractor, FrameOptions, Kind, MelOptions, SpectralOptions};

    fn options(kind: Kind) -> SpectralOptions {
        SpectralOptions {
            frames: FrameOptions { dither: 0.0, ..FrameOptions::default() },
            mel: MelOptions { bins: 40, high: -400.0, ..MelOptions::default() },
            energy: EnergyOptions { used: false, floor: 0.0, raw: true, htk_compat: false },
            kind,
        }
    }

    const CEPSTRA: Kind = Kind::Mfcc { num_ceps: 40, cepstral_lifter: 22.0 };
    const BANDS: Kind = Kind::Fbank { log: true, power: true };

    fn features(kind: &Kind, samples: &[f32]) -> DenseMatrix<f32> {
        Extractor::new(options(kind.clone())).unwrap().features(samples, 16000.0, 1.0).unwrap()
    }

    fn tone() -> Vec<f32> {
        (0..8000).map(|i| 3000.0 * (i as f32 * 0.3).sin() + 50.0 * (i as f32 * 1.7).cos()).collect()
    }

    fn made(kind: &Kind) -> Augmentation {
        Augmentation::new(&options(kind.clone()), Ranges::default()).unwrap()
    }

    #[test]
    fn digital_silence_has_the_features_of_zeros() {
        for kind in [CEPSTRA, BANDS] {
            let of_zeros = features(&kind, &[0.0; 8000]);
            let words = features(&kind, &tone());
            let silence = Silence { part: 1.0, digital: 1.0, ..Silence::default() };
            let (padded, [before, after]) = silence.around(&words, &made(&kind), "key", 0).unwrap().unwrap();
            assert_eq!(padded.rows, before + words.rows + after);
            assert!((1..=60).contains(&before) && (1..=60).contains(&after), "{before} {after}");
            let kept = padded.data[before * 40..(before + words.rows) * 40].iter().zip(&words.data);
            assert!(kept.clone().all(|(a, b)| (a - b).abs() < 1e-3));
            for t in (0..before).chain(before + words.rows..padded.rows) {
                let frame = padded.data[t * 40..][..40].iter().zip(&of_zeros.data[..40]);
                assert!(frame.clone().all(|(a, b)| (a - b).abs() < 1e-3), "{:?}", frame.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn noise_of_silence_is_as_far_below_the_speech_as_was_asked_for() {
        let words = features(&BANDS, &tone());
        let silence = Silence {
            part: 1.0,
            digital: 0.0,
            snr: (40.0, 40.0),
            least_frames: 1,
            most_frames: 4000,
            multiple: 3,
        };
        let (padded, [before, _]) = silence.around(&words, &made(&BANDS), "key", 3).unwrap().unwrap();
        let energies = |m: &DenseMatrix<f32>| -> Vec<f64> { m.data.iter().map(|&x| f64::from(x)).collect() };
        let speech = loudness(&energies(&words), 40);
        let padded = energies(&padded);
        let levels: Vec<f64> = padded.chunks(40).map(log_sum).collect();
        let quiet: Vec<f64> = levels.iter().copied().filter(|&level| level < speech - 4.0).collect();
        assert!(quiet.len() > 100 && before % 3 == 0);
        let mean = (quiet.iter().map(|level| level.exp()).sum::<f64>() / quiet.len() as f64).ln();
        assert!(((speech - mean) / DECIBEL - 40.0).abs() < 0.5, "{}", (speech - mean) / DECIBEL);
        // The words have the noise, too: their bands are louder by its energy, and never softer.
        let bands = padded[before * 40..].iter().zip(energies(&words));
        let added: Vec<f64> = bands.map(|(noisy, clean)| noisy.exp() - clean.exp()).collect();
        assert!(added.iter().all(|&energy| energy > -1e-3 * mean.exp()), "{added:?}");
        let frames = words.rows as f64;
        let ratio = added.iter().sum::<f64>() / frames / mean.exp();
        assert!((0.7..1.4).contains(&ratio), "{ratio}");
    }

    #[test]
    fn equal_limits_give_so_many_frames() {
        let words = features(&BANDS, &tone());
        let silence =
            Silence { part: 1.0, least_frames: 30, most_frames: 30, multiple: 3, ..Silence::default() };
        for key in ["a", "b", "c"] {
            let (_, frames) = silence.around(&words, &made(&BANDS), key, 0).unwrap().unwrap();
            assert_eq!(frames, [30, 30]);
        }
    }

    #[test]
    fn a_part_of_the_utterances_gets_silence_by_key_and_seed() {
        let words = features(&CEPSTRA, &tone());
        let made = made(&CEPSTRA);
        let silence = Silence { part: 0.3, ..Silence::default() };
        let pad = |key: usize, seed| silence.around(&words, &made, &key.to_string(), seed).unwrap();
        let padded = (0..400).filter(|&key| pad(key, 0).is_some()).count();
        assert!((90..150).contains(&padded), "{padded}");
        assert!((0..400).all(|key| pad(key, 7) == pad(key, 7)));
        assert!((0..400).any(|key| pad(key, 7) != pad(key, 8)));
    }

    #[test]
    fn options_that_cannot_be_are_refused() {
        let bad = [
            Silence { part: 1.5, ..Silence::default() },
            Silence { digital: -0.1, ..Silence::default() },
            Silence { most_frames: 0, ..Silence::default() },
            Silence { multiple: 0, ..Silence::default() },
            Silence { least_frames: 61, ..Silence::default() },
            Silence { most_frames: 5, multiple: 6, ..Silence::default() },
            Silence { snr: (30.0, 20.0), ..Silence::default() },
            Silence { snr: (f64::NAN, 20.0), ..Silence::default() },
        ];
        assert!(bad.iter().all(|silence| silence.check().is_err()));
        let few = DenseMatrix { data: vec![0.0; 13], rows: 1, cols: 13 };
        assert!(Silence::default().around(&few, &made(&CEPSTRA), "key", 0).is_err());
    }
}
