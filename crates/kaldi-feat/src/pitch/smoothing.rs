//! Smoothing of pitch in the older form: frames of (probability of voicing, pitch in Hz). The pitch of a frame without
//! pitch is 0.

use kaldi_io::DenseMatrix;

use super::COLUMNS;
use crate::error::{Error, Result};

/// More bins of pitch than any voice needs.
const MOST_BINS: f64 = 60_000.0;
/// Pitch in Hz if no frame has any.
const NO_PITCH: f32 = 100.0;
/// The standard deviation of the noise that decides between equal paths.
const NOISE: f32 = 0.01;

/// Options of [`PitchSmoother`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmoothingOptions {
    /// Width of a bin in Hz.
    pub interval: f32,
    /// The part of the improbability of the observed pitch that each other bin gets. The smaller, the more of the
    /// observations are kept.
    pub factor: f32,
    /// The probability of the observed pitch if its frame is certainly voiced.
    pub max_voicing: f32,
    /// The largest step from frame to frame, in Hz.
    pub max_change: f32,
}

impl SmoothingOptions {
    fn check(&self) -> Result<()> {
        let wrong = |what: &str, value: f32, expected: &str| {
            Err(Error::options(format!("{what} of {value}: expected {expected}")))
        };
        match *self {
            _ if !(self.interval > 0.0 && self.interval < 20.0) => {
                wrong("a pitch interval", self.interval, "more than 0 and less than 20 Hz")
            }
            _ if !(self.factor > 0.0 && self.factor < 1.0) => {
                wrong("an interpolator factor", self.factor, "a number between 0 and 1")
            }
            _ if !(0.5..=1.0).contains(&self.max_voicing) => {
                wrong("a probability of voicing", self.max_voicing, "at most one from 0.5 to 1")
            }
            _ if !(self.max_change > 2.0 * self.interval && self.max_change.is_finite()) => {
                wrong("a largest pitch change", self.max_change, "more than two intervals")
            }
            _ => Ok(()),
        }
    }
}

/// Random numbers.
pub trait SmoothingNoise {
    /// A number above 0, and at most 1.
    fn uniform(&mut self) -> f32;
    /// So many standard normal numbers.
    fn normals(&mut self, count: usize) -> Vec<f32>;
}

/// Counts so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SmoothingCounts {
    pub frames: u64,
    /// Frames without pitch. As in the reference, frames with a pitch in the lowest bin count, too.
    pub zero: u64,
    /// Other frames with a pitch that moved to another bin.
    pub changed: u64,
}

/// Finds the most probable pitch of all frames (Viterbi): the observed pitch has its probability of voicing, and a
/// change by d Hz costs d²/2.
#[derive(Debug)]
pub struct PitchSmoother<N> {
    options: SmoothingOptions,
    noise: N,
    pub counts: SmoothingCounts,
}

/// The observation of a frame.
struct Observed {
    /// Pitch of the lowest bin, which is a little different in each frame.
    lowest: f32,
    bin: usize,
    voicing: f32,
}

impl<N: SmoothingNoise> PitchSmoother<N> {
    /// Fails if an option makes no sense.
    pub fn new(options: SmoothingOptions, noise: N) -> Result<Self> {
        options.check()?;
        Ok(PitchSmoother { options, noise, counts: SmoothingCounts::default() })
    }

    /// Replaces the pitch of all frames. Fails if frames are not pairs, or have impossible values.
    pub fn smooth(&mut self, pitch: &mut DenseMatrix<f32>) -> Result<()> {
        check(pitch)?;
        let (observed, bins) = self.observe(pitch)?;
        let Some((first, later)) = observed.split_first() else { return Ok(()) };
        let mut scores = vec![0.0; bins];
        self.add_observation(first, &mut scores);
        let (mut before, mut backpointers) = (first, Vec::with_capacity(later.len()));
        for frame in later {
            let (next, pointers) = self.step(before, frame, &scores);
            scores = next;
            backpointers.push(pointers);
            self.add_observation(frame, &mut scores);
            before = frame;
        }
        let better = |best: usize, bin: usize| if scores[bin] > scores[best] { bin } else { best };
        let mut best = (0..bins).reduce(better).unwrap_or(0);
        for (t, frame) in observed.iter().enumerate().rev() {
            self.counts.frames += 1;
            match frame.bin {
                0 => self.counts.zero += 1,
                bin => self.counts.changed += u64::from(bin != best),
            }
            pitch.row_mut(t)[1] = frame.lowest + self.options.interval * best as f32;
            if t > 0 {
                best = usize::from(backpointers[t - 1][best]);
            }
        }
        Ok(())
    }

    /// The observations, and how many bins there are.
    fn observe(&mut self, pitch: &DenseMatrix<f32>) -> Result<(Vec<Observed>, usize)> {
        let interval = self.options.interval;
        let voiced = || (0..pitch.rows).map(|t| pitch.row(t)[1]).filter(|&hertz| hertz != 0.0);
        let lowest = voiced().reduce(f32::min).unwrap_or(NO_PITCH);
        let highest = voiced().reduce(f32::max).unwrap_or(NO_PITCH).max(lowest + 2.0 * interval);
        let nearest = |hertz: f32| (f64::from(hertz / interval) + 0.5).floor();
        let bins = nearest(highest - lowest) + 2.0;
        if bins > MOST_BINS {
            return Err(Error::data(format!(
                "pitch from {lowest} to {highest} Hz: expected a range of voices"
            )));
        }
        let observed = (0..pitch.rows)
            .map(|t| {
                let (probability, hertz) = (pitch.row(t)[0], pitch.row(t)[1]);
                let lowest = lowest - interval * self.noise.uniform();
                match hertz == 0.0 {
                    true => Observed { lowest, bin: 0, voicing: 0.0 },
                    false => Observed {
                        lowest,
                        bin: nearest(hertz - lowest).clamp(0.0, bins - 1.0) as usize,
                        voicing: probability * self.options.max_voicing,
                    },
                }
            })
            .collect();
        Ok((observed, bins as usize))
    }

    fn add_observation(&mut self, frame: &Observed, scores: &mut [f32]) {
        let rest = ((1.0 - f64::from(frame.voicing)) * f64::from(self.options.factor)) as f32;
        let rest = rest.max(f32::MIN_POSITIVE);
        let log_rest = rest.ln();
        scores.iter_mut().for_each(|score| *score += log_rest);
        scores[frame.bin] += ((frame.voicing + rest) / rest).ln();
        let noise = self.noise.normals(scores.len());
        scores.iter_mut().zip(noise).for_each(|(score, noise)| *score += NOISE * noise);
    }

    /// The scores of all bins at a frame before its observation, and for each the best bin of the frame before it.
    fn step(&self, before: &Observed, frame: &Observed, scores: &[f32]) -> (Vec<f32>, Vec<u16>) {
        let interval = self.options.interval;
        let farthest = (f64::from(self.options.max_change / interval) + 0.5).floor() as usize;
        let best = |bin: usize| {
            let hertz = frame.lowest + bin as f32 * interval;
            let mut best = (f32::NEG_INFINITY, 0);
            let first = bin.saturating_sub(farthest);
            let bins = scores
                .iter()
                .enumerate()
                .skip(first)
                .take((bin - first).saturating_add(farthest).saturating_add(1));
            for (from, &score) in bins {
                let change = f64::from(before.lowest + from as f32 * interval - hertz);
                let score = (f64::from(score) - 0.5 * change * change) as f32;
                if score > best.0 {
                    best = (score, from as u16);
                }
            }
            best
        };
        (0..scores.len()).map(best).unzip()
    }
}

/// Bridges frames without pitch by straight lines. At an end of the recording, the line goes to 0.9 times the pitch at
/// the other end of the gap. If no frame has pitch, all pitch becomes 1. Fails as [`PitchSmoother::smooth`] does.
///
/// As in the reference, the first frame does not count as the start of a gap that follows it.
pub fn bridge_gaps(pitch: &mut DenseMatrix<f32>) -> Result<()> {
    check(pitch)?;
    let mut t = 0;
    while t < pitch.rows {
        if pitch.row(t)[1] != 0.0 {
            t += 1;
            continue;
        }
        let end = (t..pitch.rows).find(|&t| pitch.row(t)[1] != 0.0).unwrap_or(pitch.rows);
        let before = (t > 1).then(|| pitch.row(t - 1)[1]);
        let after = (end < pitch.rows).then(|| pitch.row(end)[1]);
        let less = |value: f32| (0.9 * f64::from(value)) as f32;
        let (from, to) = match (before, after) {
            (Some(from), Some(to)) => (from, to),
            (None, Some(to)) => (less(to), to),
            (Some(from), None) => (from, less(from)),
            (None, None) => (1.0, 1.0),
        };
        // The line goes from the frame before the gap to the frame after it.
        let slope = (to - from) / (end + 1 - t) as f32;
        for (step, k) in (t..end).enumerate() {
            pitch.row_mut(k)[1] = from + slope * (step + 1) as f32;
        }
        t = end;
    }
    Ok(())
}

fn check(pitch: &DenseMatrix<f32>) -> Result<()> {
    if pitch.rows > 0 && pitch.cols != COLUMNS {
        return Err(Error::data(format!(
            "{} columns: expected {COLUMNS}, the probability of voicing and the pitch",
            pitch.cols
        )));
    }
    let wrong = |row: &[f32]| !((0.0..=1.0).contains(&row[0]) && row[1] >= 0.0 && row[1].is_finite());
    match (0..pitch.rows).find(|&t| wrong(pitch.row(t))) {
        None => Ok(()),
        Some(t) => Err(Error::data(format!(
            "frame {t} has probability {} and pitch {}: expected a probability from 0 to 1 and a pitch of at least 0",
            pitch.row(t)[0],
            pitch.row(t)[1]
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    const OPTIONS: SmoothingOptions =
        SmoothingOptions { interval: 4.0, factor: 1e-5, max_voicing: 0.9, max_change: 10.0 };

    /// No noise, and lowest bins half a bin below the lowest pitch.
    #[derive(Debug)]
    struct Quiet;

    impl SmoothingNoise for Quiet {
        fn uniform(&mut self) -> f32 {
            0.5
        }
        fn normals(&mut self, count: usize) -> Vec<f32> {
            vec![0.0; count]
        }
    }

    fn frames(hertz: &[f32]) -> DenseMatrix<f32> {
        let rows: Vec<Vec<f32>> = hertz.iter().map(|&hertz| vec![0.8, hertz]).collect();
        DenseMatrix::from_rows(&rows)
    }

    fn hertz(pitch: &DenseMatrix<f32>) -> Vec<f32> {
        (0..pitch.rows).map(|t| pitch.row(t)[1]).collect()
    }

    fn bridged(input: &[f32]) -> Vec<f32> {
        let mut pitch = frames(input);
        bridge_gaps(&mut pitch).unwrap();
        hertz(&pitch)
    }

    #[test]
    fn lines_over_gaps() {
        assert_close(&bridged(&[80.0, 100.0, 0.0, 0.0, 130.0]), &[80.0, 100.0, 110.0, 120.0, 130.0], 1e-5);
        assert_close(&bridged(&[0.0, 100.0, 100.0, 0.0]), &[95.0, 100.0, 100.0, 95.0], 1e-5);
        // The first frame does not count as a start, so the line comes from 0.9 times 200.
        assert_close(&bridged(&[80.0, 0.0, 200.0]), &[80.0, 190.0, 200.0], 1e-5);
        assert_close(&bridged(&[0.0, 0.0]), &[1.0, 1.0], 1e-5);
    }

    /// Compares with the best of all sequences of bins.
    #[test]
    fn the_best_path() {
        let input = [100.0, 0.0, 112.0, 130.0, 0.0];
        let mut pitch = frames(&input);
        let mut smoother = PitchSmoother::new(OPTIONS, Quiet).unwrap();
        smoother.smooth(&mut pitch).unwrap();
        // From 98 Hz on in steps of 4: 30/4 rounded is 8, and 2 more.
        let bins = 10usize;
        let bin = |hertz: f32| ((hertz - 98.0) / 4.0 + 0.5).floor() as usize;
        let score = |path: &[usize]| -> f64 {
            let mut sum = 0.0;
            for (t, &b) in path.iter().enumerate() {
                let voicing = if input[t] == 0.0 { 0.0 } else { 0.8 * 0.9f64 };
                let rest = (1.0 - voicing) * 1e-5;
                sum += if input[t] != 0.0 && b == bin(input[t]) { (voicing + rest).ln() } else { rest.ln() };
                if t > 0 {
                    let change = 4.0 * (b as f64 - path[t - 1] as f64);
                    // At most 3 bins.
                    sum += if change.abs() > 12.0 { f64::NEG_INFINITY } else { -0.5 * change * change };
                }
            }
            sum
        };
        let paths = (0..bins.pow(5)).map(|i| (0..5).map(|t| i / bins.pow(t) % bins).collect::<Vec<_>>());
        let best = paths.map(|path| score(&path)).fold(f64::NEG_INFINITY, f64::max);
        let found: Vec<usize> =
            hertz(&pitch).iter().map(|&hertz| ((hertz - 98.0) / 4.0).round() as usize).collect();
        assert!((score(&found) - best).abs() < 1e-3, "{found:?}: {} instead of {best}", score(&found));
        assert_eq!(smoother.counts.frames, 5);
        assert_eq!(smoother.counts.zero, 2);
    }

    #[test]
    fn refusals() {
        for (options, words) in [
            (SmoothingOptions { interval: 0.0, ..OPTIONS }, "a pitch interval of 0"),
            (SmoothingOptions { factor: 1.0, ..OPTIONS }, "an interpolator factor of 1"),
            (SmoothingOptions { max_voicing: 1.5, ..OPTIONS }, "a probability of voicing of 1.5"),
            (SmoothingOptions { max_change: 8.0, ..OPTIONS }, "a largest pitch change of 8"),
        ] {
            let error = PitchSmoother::new(options, Quiet).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        let mut smoother = PitchSmoother::new(OPTIONS, Quiet).unwrap();
        for (rows, words) in [
            (vec![vec![0.5, -1.0]], "frame 0 has probability 0.5 and pitch -1"),
            (vec![vec![0.5]], "1 columns: expected 2"),
            (vec![vec![0.5, 100.0], vec![0.5, 1e9]], "expected a range of voices"),
        ] {
            let error = smoother.smooth(&mut DenseMatrix::from_rows(&rows)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        // Certainty leaves the other bins a little.
        let mut certain = DenseMatrix::from_rows(&[vec![1.0, 100.0], vec![1.0, 100.0]]);
        let options = SmoothingOptions { max_voicing: 1.0, ..OPTIONS };
        PitchSmoother::new(options, Quiet).unwrap().smooth(&mut certain).unwrap();
        assert!(hertz(&certain).iter().all(|&hertz| (hertz - 100.0).abs() <= 2.0));
    }
}
