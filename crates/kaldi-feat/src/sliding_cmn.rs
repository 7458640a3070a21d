//! Normalisation by a window that slides over the utterance (`SlidingWindowCmn` of `feat/feature-functions.cc`).

use std::ops::Range;

use crate::error::{Error, Result};
use kaldi_io::DenseMatrix;

const VARIANCE_FLOOR: f64 = 1e-10;

#[derive(Debug, Clone, PartialEq)]
pub struct SlidingCmn {
    pub window: usize,
    /// The least number of frames at the beginning, if the window ends with its frame.
    pub min_window: usize,
    /// The frame in the middle of the window, as far as possible, instead of at its end.
    pub center: bool,
    pub normalize_variances: bool,
}

/// A frame at which variances were too small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floored {
    pub dims: usize,
    pub window_frames: usize,
}

impl SlidingCmn {
    /// The frames by which frame `t` of `frames` is normalised.
    fn frames(&self, t: usize, frames: usize) -> Range<usize> {
        let (start, mut end) = if self.center {
            let start = t as i64 - (self.window / 2) as i64;
            (start, start.max(0) as usize + self.window)
        } else {
            (t as i64 - self.window as i64, (t + 1).max(self.min_window))
        };
        let mut start = start.max(0) as usize;
        if end > frames {
            start = start.saturating_sub(end - frames);
            end = frames;
        }
        start..end
    }

    /// The normalised frames, and where variances were floored.
    pub fn apply(&self, features: &DenseMatrix<f32>) -> Result<(DenseMatrix<f32>, Vec<Floored>)> {
        if self.window == 0 {
            return Err(Error::options("the window must have at least one frame"));
        }
        let mut out = features.clone();
        let mut floored = Vec::new();
        let mut sums = vec![(0.0, 0.0); features.cols];
        let mut last = 0..0;
        for t in 0..features.rows {
            let window = self.frames(t, features.rows);
            for leaving in last.start..window.start {
                add(&mut sums, features.row(leaving), -1.0);
            }
            for new in last.end..window.end {
                add(&mut sums, features.row(new), 1.0);
            }
            last = window.clone();
            let dims = self.normalize(out.row_mut(t), &sums, window.len());
            if dims > 0 && features.rows > 1 {
                floored.push(Floored { dims, window_frames: window.len() });
            }
        }
        Ok((out, floored))
    }

    /// Returns how many variances were floored.
    fn normalize(&self, frame: &mut [f32], sums: &[(f64, f64)], count: usize) -> usize {
        if self.normalize_variances && count == 1 {
            frame.fill(0.0);
            return 0;
        }
        let count = count as f64;
        let mut floored = 0;
        for (x, (sum, square)) in frame.iter_mut().zip(sums) {
            let mut value = f64::from(*x) - sum / count;
            if self.normalize_variances {
                let variance = square / count - (sum / count).powi(2);
                floored += usize::from(variance < VARIANCE_FLOOR);
                value /= variance.max(VARIANCE_FLOOR).sqrt();
            }
            *x = value as f32;
        }
        floored
    }
}

fn add(sums: &mut [(f64, f64)], frame: &[f32], sign: f64) {
    for ((sum, square), &x) in sums.iter_mut().zip(frame) {
        let x = f64::from(x);
        *sum += sign * x;
        *square += sign * x * x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, matrix};

    /// Windows as the reference computes them, in its words.
    fn window(options: &SlidingCmn, t: i64, frames: i64) -> (i64, i64) {
        let (window, min_window) = (options.window as i64, options.min_window as i64);
        let (mut start, mut end) =
            if options.center { (t - window / 2, t - window / 2 + window) } else { (t - window, t + 1) };
        if start < 0 {
            end -= start;
            start = 0;
        }
        if !options.center && end > t {
            end = (t + 1).max(min_window);
        }
        if end > frames {
            start = (start - (end - frames)).max(0);
            end = frames;
        }
        (start, end)
    }

    #[test]
    fn equals_statistics_of_each_window() {
        for (frames, size, min_window) in
            [(30, 7, 3), (30, 6, 12), (5, 9, 3), (1, 4, 2), (12, 12, 12), (9, 1, 1)]
        {
            for (center, variances) in [(false, false), (false, true), (true, false), (true, true)] {
                let options = SlidingCmn { window: size, min_window, center, normalize_variances: variances };
                let features = matrix(frames, 3, size as u64);
                let mut expected = Vec::new();
                for t in 0..frames {
                    let (start, end) = window(&options, t as i64, frames as i64);
                    assert_eq!(options.frames(t, frames), start as usize..end as usize);
                    let count = (end - start) as f64;
                    for d in 0..3 {
                        let column: Vec<f64> =
                            (start..end).map(|t| features.row(t as usize)[d].into()).collect();
                        let mean = column.iter().sum::<f64>() / count;
                        let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
                        let value = f64::from(features.row(t)[d]) - mean;
                        expected.push(match (variances, count == 1.0) {
                            (true, true) => 0.0,
                            (true, false) => value / variance.sqrt(),
                            (false, _) => value,
                        });
                    }
                }
                let (out, floored) = options.apply(&features).unwrap();
                assert_close(&out.data, &expected, 1e-5);
                assert!(floored.is_empty());
            }
        }
    }

    #[test]
    fn constant_features_have_floored_variances() {
        let options = SlidingCmn { window: 4, min_window: 2, center: false, normalize_variances: true };
        let features = DenseMatrix::from_rows(&[[1.0f32, 0.0], [1.0, 1.0], [1.0, 2.0]]);
        let (out, floored) = options.apply(&features).unwrap();
        assert_eq!(floored.len(), 3);
        assert_eq!(floored[0], Floored { dims: 1, window_frames: 2 });
        assert_eq!(out.row(0), [0.0, -1.0]);
        assert!(SlidingCmn { window: 0, ..options }.apply(&features).is_err());
    }
}
