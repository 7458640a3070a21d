//! Derivatives of features by time (`DeltaFeatures` of `feat/feature-functions.cc`).
//!
//! The derivative of order k is a weighted sum of the frames around a frame. The weights of order k are the weights of
//! order k - 1, convolved with (-w, …, w) / Σ j².

use crate::error::{Error, Result};
use kaldi_io::DenseMatrix;

const LIMIT: i32 = 1000;

#[derive(Debug, Clone, PartialEq)]
pub struct Deltas {
    /// One window for each order from 0 to the highest; each has an odd length, and the present frame is in its
    /// middle.
    windows: Vec<Vec<f32>>,
}

impl Deltas {
    /// Derivatives up to `order`, each by `window` frames on both sides.
    pub fn new(order: i32, window: i32) -> Result<Self> {
        if !(0..LIMIT).contains(&order) {
            return Err(Error::options(format!("`delta-order`={order}: expected a number from 0 to 999")));
        }
        if !(1..LIMIT).contains(&window) {
            return Err(Error::options(format!("`delta-window`={window}: expected a number from 1 to 999")));
        }
        let normalizer: f32 = (-window..=window).map(|j| (j * j) as f32).sum();
        let factor = (1.0 / f64::from(normalizer)) as f32;
        let mut windows = vec![vec![1.0]];
        for _ in 0..order {
            let previous = &windows[windows.len() - 1];
            let mut next = vec![0.0; previous.len() + 2 * window as usize];
            for (i, j) in (-window..=window).enumerate() {
                next[i..].iter_mut().zip(previous).for_each(|(to, &from)| *to += j as f32 * from);
            }
            next.iter_mut().for_each(|weight| *weight *= factor);
            windows.push(next);
        }
        Ok(Deltas { windows })
    }

    /// Puts its derivatives behind each frame; outside the utterance its first and last frame are repeated.
    pub fn apply(&self, features: &DenseMatrix<f32>) -> DenseMatrix<f32> {
        let dim = features.cols;
        let mut out = DenseMatrix::new(features.rows, dim * self.windows.len());
        for t in 0..features.rows {
            for (order, window) in self.windows.iter().enumerate() {
                let part = &mut out.row_mut(t)[order * dim..][..dim];
                for (j, &weight) in window.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
                    let source = (t + j).saturating_sub(window.len() / 2).min(features.rows - 1);
                    part.iter_mut().zip(features.row(source)).for_each(|(to, x)| *to += weight * x);
                }
            }
        }
        out
    }
}

/// Shifted deltas: behind each frame x(t) come blocks of slopes. Block i is Σ_j j·x(t + j + i·shift) / Σ_j j², j = −w … w.
#[derive(Debug, Clone, PartialEq)]
pub struct ShiftedDeltas {
    /// Frames on each side of a slope (w).
    window: i64,
    blocks: usize,
    /// Frames from a block to the next.
    shift: i64,
}

impl ShiftedDeltas {
    /// Fails if a number is out of range.
    pub fn new(window: i32, blocks: i32, shift: i32) -> Result<Self> {
        for (name, value) in [("delta-window", window), ("num-blocks", blocks), ("block-shift", shift)] {
            if !(1..LIMIT).contains(&value) {
                return Err(Error::options(format!("`{name}`={value}: expected a number from 1 to 999")));
            }
        }
        Ok(ShiftedDeltas { window: window.into(), blocks: blocks as usize, shift: shift.into() })
    }

    /// Puts the blocks behind each frame; outside the utterance its first and last frame are repeated.
    pub fn apply(&self, features: &DenseMatrix<f32>) -> DenseMatrix<f32> {
        let dim = features.cols;
        let last = features.rows as i64 - 1;
        let normalizer: i64 = (-self.window..=self.window).map(|j| j * j).sum();
        let mut out = DenseMatrix::new(features.rows, dim * (1 + self.blocks));
        for t in 0..features.rows {
            let (frame, blocks) = out.row_mut(t).split_at_mut(dim);
            frame.copy_from_slice(features.row(t));
            for (i, block) in blocks.chunks_exact_mut(dim).enumerate() {
                for j in -self.window..=self.window {
                    let source = (t as i64 + j + i as i64 * self.shift).clamp(0, last) as usize;
                    let weight = j as f32 / normalizer as f32;
                    block.iter_mut().zip(features.row(source)).for_each(|(to, x)| *to += weight * x);
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, matrix};

    /// Σ j x(t + j) / Σ j², of frames that may lie outside the utterance.
    fn slope(x: &dyn Fn(i64) -> f64, window: i64, t: i64) -> f64 {
        let sum: f64 = (-window..=window).map(|j| j as f64 * x(t + j)).sum();
        sum / (-window..=window).map(|j| (j * j) as f64).sum::<f64>()
    }

    #[test]
    fn deltas_are_slopes_of_slopes() {
        for window in [1, 2, 3] {
            let features = matrix(9, 2, window as u64);
            let out = Deltas::new(2, window).unwrap().apply(&features);
            assert_eq!((out.rows, out.cols), (9, 6));
            let window = i64::from(window);
            for t in 0..9 {
                for d in 0..2 {
                    let x = |t: i64| f64::from(features.row(t.clamp(0, 8) as usize)[d]);
                    let first = |t: i64| slope(&x, window, t);
                    let row = out.row(t as usize);
                    let expected = [x(t), first(t), slope(&first, window, t)];
                    assert_close(&[row[d], row[2 + d], row[4 + d]], &expected, 1e-6);
                }
            }
        }
    }

    #[test]
    fn shifted_deltas_are_slopes_of_later_frames() {
        let features = matrix(11, 2, 4);
        let out = ShiftedDeltas::new(2, 3, 4).unwrap().apply(&features);
        assert_eq!((out.rows, out.cols), (11, 8));
        for t in 0..11 {
            for d in 0..2 {
                let x = |t: i64| f64::from(features.row(t.clamp(0, 10) as usize)[d]);
                let expected = [x(t), slope(&x, 2, t), slope(&x, 2, t + 4), slope(&x, 2, t + 8)];
                let row = out.row(t as usize);
                assert_close(&[row[d], row[2 + d], row[4 + d], row[6 + d]], &expected, 1e-6);
            }
        }
        for (window, blocks, shift) in [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1000, 1)] {
            assert!(ShiftedDeltas::new(window, blocks, shift).is_err());
        }
    }

    #[test]
    fn limits() {
        let features = matrix(3, 2, 1);
        assert_eq!(Deltas::new(0, 2).unwrap().apply(&features), features);
        for (order, window) in [(-1, 2), (1000, 2), (2, 0), (2, 1000)] {
            assert!(Deltas::new(order, window).is_err());
        }
    }
}
