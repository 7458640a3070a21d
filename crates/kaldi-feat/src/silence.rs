//! Longer silence at the end of recordings.

use std::f64::consts::TAU;

use crate::error::{Error, Result};

/// Options of finding and adding silence; times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SilenceOptions {
    /// Length of the silence that is added.
    pub extra: f32,
    /// Length of the parts at the beginning and at the end in which silence is looked for.
    pub search: f32,
    /// Length of the segment that is repeated.
    pub segment: f32,
    /// Time between the beginnings of two examined segments.
    pub step: f32,
}

impl SilenceOptions {
    /// Numbers of samples: added, searched, of a segment, of a step.
    fn samples(&self, rate: f32) -> Result<[usize; 4]> {
        let samples = |what: &str, seconds: f32, least: usize| match seconds * rate {
            samples if samples >= least as f32 && samples < 1e9 => Ok(samples as usize),
            samples => Err(Error::options(format!(
                "{what} of {seconds} s are {samples} samples: expected at least {least}, and below 1e9"
            ))),
        };
        let out = [
            samples("extra silence", self.extra, 1)?,
            samples("parts to search", self.search, 1)?,
            samples("segments", self.segment, 2)?,
            samples("steps", self.step, 1)?,
        ];
        if out[2] >= out[1] {
            return Err(Error::options(format!(
                "segments of {} s in parts of {} s: expected shorter ones",
                self.segment, self.search
            )));
        }
        Ok(out)
    }
}

/// A signal with more silence at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Extended {
    pub samples: Vec<f32>,
    /// True if the silence that was repeated has no energy at all.
    pub is_zero: bool,
}

/// Appends silence: windowed copies of the quietest segment near the signal's ends. Each copy overlaps with half of the
/// copy before it.
///
/// The first copy begins half a segment before the end, where the second half of the Hamming window ends the signal.
/// Fails if the signal is shorter than the searched part, or if a length is invalid.
pub fn extend(signal: &[f32], rate: f32, options: &SilenceOptions) -> Result<Extended> {
    let [extra, search, length, step] = options.samples(rate)?;
    if signal.len() < search {
        return Err(Error::data(format!(
            "{} samples: expected at least {search}, the part in which silence is looked for",
            signal.len()
        )));
    }
    let segment = quietest(signal, search, length, step);
    let is_zero = segment.iter().all(|&x| x == 0.0);
    let window: Vec<f32> =
        (0..length).map(|i| (0.54 - 0.46 * (TAU * i as f64 / (length - 1) as f64).cos()) as f32).collect();
    let half = length / 2;
    let mut out = signal.to_vec();
    out.resize(signal.len() + extra, 0.0);
    let extension = &mut out[signal.len() - half..];
    extension.iter_mut().zip(&window[half..2 * half]).for_each(|(x, w)| *x *= w);
    let mut first = 0;
    loop {
        let windowed = segment.iter().zip(&window).map(|(x, w)| x * w);
        extension[first..].iter_mut().zip(windowed).for_each(|(x, y)| *x += y);
        if first + length >= extension.len() {
            return Ok(Extended { samples: out, is_zero });
        }
        first += half;
    }
}

/// The first of the segments with the least energy above 0. The first of all is taken if its energy is 0, as in the
/// reference.
fn quietest(signal: &[f32], search: usize, length: usize, step: usize) -> &[f32] {
    let energy = |segment: &[f32]| segment.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
    let starts = |first: usize| (first..first + search - length).step_by(step);
    let mut best = &signal[..length];
    let mut least = energy(best);
    for start in starts(0).chain(starts(signal.len() - search)) {
        let segment = &signal[start..start + length];
        let found = energy(segment);
        if found > 0.0 && found < least {
            (best, least) = (segment, found);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    const OPTIONS: SilenceOptions =
        SilenceOptions { extra: 0.005, search: 0.006, segment: 0.004, step: 0.001 };

    #[test]
    fn copies_overlap_by_half() {
        // Windows of 4 samples: 0.08, 0.77, 0.77, 0.08. The quietest segment is (1, 1, 2, 2). The search has segments
        // of 6 samples from the end on, and leaves out the last of them.
        let signal = [9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 1.0, 1.0, 2.0, 2.0, 9.0];
        let found = extend(&signal, 1000.0, &OPTIONS).unwrap().samples;
        let silence = [0.08, 0.77, 1.54, 0.16];
        let mut expected: Vec<f64> = signal.iter().map(|&x| f64::from(x)).collect();
        expected[10] = 2.0 * 0.77 + silence[0];
        expected[11] = 9.0 * 0.08 + silence[1];
        let (a, b) = (silence[2] + silence[0], silence[3] + silence[1]);
        expected.extend([a, b, a, b, silence[2]]);
        let n = expected.len();
        assert_eq!(found.len(), n);
        assert_close(&found, &expected, 1e-5);
    }

    #[test]
    fn silence_without_energy_is_told() {
        let zeros = extend(&[0.0; 12], 1000.0, &OPTIONS).unwrap();
        assert!(zeros.is_zero && zeros.samples.iter().all(|&x| x == 0.0));
        assert!(!extend(&[0.5; 12], 1000.0, &OPTIONS).unwrap().is_zero);
    }

    #[test]
    fn refusals() {
        let signal = [1.0; 5];
        for (options, words) in [
            (OPTIONS, "5 samples: expected at least 6"),
            (SilenceOptions { segment: 0.006, ..OPTIONS }, "expected shorter ones"),
            (SilenceOptions { step: 0.0, ..OPTIONS }, "steps of 0 s are 0 samples"),
            (SilenceOptions { extra: f32::NAN, ..OPTIONS }, "extra silence of NaN s"),
        ] {
            let error = extend(&signal, 1000.0, &options).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
