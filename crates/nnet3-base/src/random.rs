//! The one source of randomness of a run, seeded by `--srand`.

use crate::c_rand::{self, CRand, CRandR};
use crate::error::Result;
use crate::snapshot::Keeper;
use std::cell::RefCell;

/// A seeded generator: [`CRand`] behind a shared reference. Same seed, same sequence, on every machine.
///
/// Each method takes one number of the sequence unless it says otherwise.
#[derive(Debug)]
pub struct Random {
    generator: RefCell<CRand>,
}

impl Random {
    pub fn new(seed: i32) -> Random {
        Random { generator: RefCell::new(CRand::new(seed)) }
    }

    /// Starts the sequence of `seed` again.
    pub fn reseed(&self, seed: i32) {
        *self.generator.borrow_mut() = CRand::new(seed)
    }

    /// Takes or puts back the place in the sequence.
    pub fn keep(&self, keeper: &mut Keeper<'_>) -> Result<()> {
        self.generator.borrow_mut().keep(keeper)
    }

    /// Uniform, strictly above 0 and at most 1.
    pub fn uniform(&self) -> f32 {
        uniform(self.generator.borrow_mut().next())
    }

    /// Uniform integer, both ends included. Takes no number if they are equal.
    pub fn int(&self, first: i32, last: i32) -> i32 {
        self.generator.borrow_mut().int(first, last)
    }

    /// True with this probability. Takes no number for 0 and 1, and more than one for tiny probabilities.
    pub fn with_probability(&self, probability: f32) -> bool {
        self.generator.borrow_mut().with_probability(probability)
    }

    /// A weight that is either 0 or at least `threshold`, with `value` as its expectation. Takes no number for values that
    /// are so already.
    pub fn prune(&self, value: f32, threshold: f32) -> f32 {
        if value == 0.0 || value.abs() >= threshold {
            return value;
        }
        if self.uniform() <= value.abs() / threshold { threshold.copysign(value) } else { 0.0 }
    }

    /// Standard normal (Box–Muller). Takes two numbers.
    pub fn normal(&self) -> f32 {
        normal(|| self.uniform())
    }

    /// A key for [`nnet3_matrix::backend::RandomNumbers::fill_uniform`] and its like.
    pub fn key(&self) -> u64 {
        self.generator.borrow_mut().next() as u64
    }

    /// [`Random::normal_rows`] of one row.
    pub fn normal_vec(&self, count: usize, mean: f32, stddev: f32) -> Vec<f32> {
        self.normal_rows(1, count, mean, stddev)
    }

    /// Normal numbers with this standard deviation around `mean`, row by row: those that the reference draws for a
    /// matrix of this shape. Draws even if `stddev` is 0, so that the parameters elsewhere in the network do not depend
    /// on the deviations.
    ///
    /// Takes one number, the seed of another generator; none for an empty matrix.
    pub fn normal_rows(&self, rows: usize, cols: usize, mean: f32, stddev: f32) -> Vec<f32> {
        /// The reference's constant that makes the two generators differ.
        const APART: u32 = 27437;
        let mut out = vec![0.0; rows * cols];
        if out.is_empty() {
            return out;
        }
        let mut generator = CRandR::new((self.generator.borrow_mut().next() as u32).wrapping_add(APART));
        let mut draw = || uniform(generator.next());
        for row in out.chunks_exact_mut(cols) {
            let (pairs, last) = row.as_chunks_mut::<2>();
            for pair in pairs {
                let (length, angle) = ((-2.0 * draw().ln()).sqrt(), turn(draw()));
                *pair = [length * angle.cos(), length * angle.sin()];
            }
            last.iter_mut().for_each(|x| *x = normal(&mut draw));
        }
        out.iter_mut().for_each(|x| *x = *x * stddev + mean);
        out
    }
}

/// A number of the C library's as one strictly above 0 and at most 1.
fn uniform(number: i32) -> f32 {
    ((f64::from(number) + 1.0) / (f64::from(c_rand::MAX) + 2.0)) as f32
}

/// This part of a full turn, in radians.
fn turn(part: f32) -> f32 {
    (2.0 * std::f64::consts::PI * f64::from(part)) as f32
}

/// Standard normal, from two uniform numbers.
fn normal(mut draw: impl FnMut() -> f32) -> f32 {
    let length = (-2.0 * draw().ln()).sqrt();
    length * turn(draw()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters that the reference's `nnet3-init --srand=7` gives an affine component from 3 to 2 dimensions.
    #[test]
    fn the_parameters_of_the_reference() {
        let random = Random::new(7);
        for (shape, expected) in [
            ((2, 3), &[-1.575899, 1.587959, 0.6799132, -0.2718014, -1.578276, 0.4891039][..]),
            ((0, 2), &[]),
            ((1, 2), &[-0.6569754, -0.09341494]),
        ] {
            let found = random.normal_rows(shape.0, shape.1, 0.0, 1.0);
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 5e-7, "{found} for {expected}");
            }
        }
    }

    #[test]
    fn pruning_keeps_expectations() {
        let random = Random::new(5);
        for (value, threshold) in [(0.25, 1.0), (-0.1, 4.0)] {
            let draws = 20_000;
            let sum: f32 = (0..draws)
                .map(|_| random.prune(value, threshold))
                .inspect(|&x| assert!(x == 0.0 || x == threshold.copysign(value)))
                .sum();
            assert!((sum / draws as f32 - value).abs() < 0.05 * threshold, "{sum}");
        }
        let before = random.generator.borrow().clone().next();
        assert_eq!(
            [random.prune(2.0, 1.0), random.prune(-1.0, 1.0), random.prune(0.0, 1.0)],
            [2.0, -1.0, 0.0]
        );
        assert_eq!(random.generator.borrow_mut().next(), before, "certain things draw nothing");
    }
}
