//! Random numbers of the C library for the libraries of mixtures.

use kaldi_gmm::random::Chance;
use nnet3_core::random::Random;

/// The sequence of a seed.
pub struct Draws(Random);

impl Draws {
    pub fn new(seed: i32) -> Draws {
        Draws(Random::new(seed))
    }
}

/// The sequence of a C program that sets no seed.
impl Default for Draws {
    fn default() -> Draws {
        Draws::new(1)
    }
}

impl Chance for Draws {
    fn rand(&mut self) -> i32 {
        self.0.key() as i32
    }

    fn int(&mut self, first: i32, last: i32) -> i32 {
        self.0.int(first, last)
    }

    fn with_probability(&mut self, probability: f32) -> bool {
        self.0.with_probability(probability)
    }

    fn normals(&mut self, count: usize) -> Vec<f32> {
        self.0.normal_vec(count, 0.0, 1.0)
    }
}
