//! The one source of randomness of a run, seeded by `--srand`.

use std::cell::RefCell;

/// A seeded generator. Same seed, same sequence, on every machine.
#[derive(Debug)]
pub struct Random {
    generator: RefCell<fastrand::Rng>,
}

impl Random {
    pub fn new(seed: i64) -> Random {
        Random { generator: RefCell::new(fastrand::Rng::with_seed(seed as u64)) }
    }

    /// Starts the sequence of `seed` again.
    pub fn reseed(&self, seed: i64) {
        self.generator.borrow_mut().seed(seed as u64)
    }

    /// Uniform, strictly inside (0, 1).
    pub fn uniform(&self) -> f64 {
        (self.generator.borrow_mut().u32(..) as f64 + 0.5) / 4294967296.0
    }

    /// Uniform integer, both ends included.
    pub fn int(&self, first: i32, last: i32) -> i32 {
        self.generator.borrow_mut().i32(first..=last)
    }

    /// Standard normal (Box–Muller).
    pub fn normal(&self) -> f32 {
        let (u, v) = (self.uniform(), self.uniform());
        ((-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()) as f32
    }

    /// A key for [`nnet3_matrix::Backend::fill_uniform`] and its like.
    pub fn key(&self) -> u64 {
        self.generator.borrow_mut().u64(..)
    }

    /// `count` normal numbers with this standard deviation around `mean`. Draws even when `stddev` is 0, so that a
    /// seed gives the same parameters elsewhere in the network whatever the deviations are.
    pub fn normal_vec(&self, count: usize, mean: f32, stddev: f32) -> Vec<f32> {
        (0..count).map(|_| self.normal() * stddev + mean).collect()
    }
}
