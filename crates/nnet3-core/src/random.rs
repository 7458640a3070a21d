//! The one source of randomness of a run, seeded by `--srand`.

use crate::c_rand::{self, CRand};
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

    /// Uniform, strictly above 0 and at most 1.
    pub fn uniform(&self) -> f32 {
        let number = f64::from(self.generator.borrow_mut().next());
        ((number + 1.0) / (f64::from(c_rand::MAX) + 2.0)) as f32
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
        let (u, v) = (f64::from(self.uniform()), f64::from(self.uniform()));
        ((-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()) as f32
    }

    /// A key for [`nnet3_matrix::Backend::fill_uniform`] and its like.
    pub fn key(&self) -> u64 {
        self.generator.borrow_mut().next() as u64
    }

    /// `count` normal numbers with this standard deviation around `mean`. Draws even when `stddev` is 0, so that a
    /// seed gives the same parameters elsewhere in the network whatever the deviations are.
    pub fn normal_vec(&self, count: usize, mean: f32, stddev: f32) -> Vec<f32> {
        (0..count).map(|_| self.normal() * stddev + mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
