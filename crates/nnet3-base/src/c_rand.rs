//! The C library's `rand()` (the additive feedback generator of glibc), with the reference's ways of drawing from it.
//!
//! In the reference this stream decides which chunks an utterance is cut into, which examples are kept, and in which
//! minibatches units are repaired. Ours is the same stream, so the same decisions follow.

use crate::error::Result;
use crate::snapshot::{self, Keeper};

/// The largest number that [`CRand::next`] gives.
pub const MAX: i32 = i32::MAX;

/// A generator. Equal seeds give equal sequences; C programs without `srand` start with seed 1.
#[derive(Debug, Clone)]
pub struct CRand {
    state: [u32; Self::LONG_LAG],
    at: usize,
}

impl Default for CRand {
    fn default() -> Self {
        CRand::new(1)
    }
}

impl CRand {
    const LONG_LAG: usize = 31;
    const SHORT_LAG: usize = 3;
    /// Numbers that `srand` throws away.
    const WARM_UP: usize = 310;

    pub fn new(seed: i32) -> CRand {
        let mut state = [0; Self::LONG_LAG];
        // x → 16807 x modulo 2³¹ - 1, with C's remainder of negative numbers made positive.
        let mut word = i64::from(if seed == 0 { 1 } else { seed });
        state[0] = word as u32;
        for slot in &mut state[1..] {
            word = (16807 * word) % 2_147_483_647;
            if word < 0 {
                word += 2_147_483_647;
            }
            *slot = word as u32;
        }
        let mut rand = CRand { state, at: Self::SHORT_LAG };
        for _ in 0..Self::WARM_UP {
            rand.next();
        }
        rand
    }

    /// Takes or puts back the place in the sequence.
    pub fn keep(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        self.state.iter_mut().try_for_each(|word| keeper.count(word))?;
        keeper.count(&mut self.at)?;
        match self.at < Self::LONG_LAG {
            true => Ok(()),
            false => Err(snapshot::wrong(format!(
                "invalid position {} in the sequence of random numbers",
                self.at
            ))),
        }
    }

    /// Uniform between 0 and [`MAX`].
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> i32 {
        let other = (self.at + Self::LONG_LAG - Self::SHORT_LAG) % Self::LONG_LAG;
        let sum = self.state[self.at].wrapping_add(self.state[other]);
        self.state[self.at] = sum;
        self.at = (self.at + 1) % Self::LONG_LAG;
        (sum >> 1) as i32
    }

    /// Draws an integer uniformly from `first` to `last`, both included. If they are equal, the generator does not
    /// advance.
    ///
    /// # Panics
    /// If `last` is below `first`.
    pub fn int(&mut self, first: i32, last: i32) -> i32 {
        assert!(first <= last, "no integer from {first} to {last}");
        if first == last {
            return first;
        }
        let count = i64::from(last) - i64::from(first) + 1;
        (i64::from(first) + i64::from(self.next()) % count) as i32
    }

    /// Returns true with this probability. For 0 and 1 the generator does not advance.
    pub fn with_probability(&mut self, probability: f32) -> bool {
        if probability <= 0.0 || probability >= 1.0 {
            return probability > 0.0;
        }
        if probability * (MAX as f32) < 128.0 {
            return self.next() < MAX / 128 && self.with_probability(probability * 128.0);
        }
        (self.next() as f32) < (MAX as f32 + 1.0) * probability
    }

    /// A random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let other = self.int(0, end as i32) as usize;
            items.swap(end, other);
        }
    }
}

/// The C library's `rand_r()`: a generator with a state of one word. In the reference every matrix of random numbers
/// has its own generator, seeded by a number of [`CRand`].
#[derive(Debug, Clone)]
pub(crate) struct CRandR(u32);

impl CRandR {
    pub fn new(seed: u32) -> CRandR {
        CRandR(seed)
    }

    /// Uniform between 0 and [`MAX`].
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> i32 {
        [11, 10, 10].into_iter().fold(0, |result, bits| {
            self.0 = self.0.wrapping_mul(1_103_515_245).wrapping_add(12345);
            (result << bits) ^ ((self.0 >> 16) % (1 << bits)) as i32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures come from a C program that calls `rand_r` three times.
    #[test]
    fn the_numbers_of_rand_r() {
        for (seed, expected) in [
            (0, [1012484, 1716955679, 1792309082]),
            (1, [476707713, 1186278907, 505671508]),
            (27437, [708046589, 1247335583, 202211993]),
            (1804316820, [200811192, 735233328, 1421005139]),
            (4294967295, [1670702726, 99100226, 931463008]),
        ] {
            let mut rand = CRandR::new(seed);
            assert_eq!([rand.next(), rand.next(), rand.next()], expected, "seed {seed}");
        }
    }

    /// The figures come from a C program that calls `srand(seed)` and then `rand()` three times.
    #[test]
    fn the_numbers_of_glibc() {
        for (seed, expected) in [
            (1, [1804289383, 846930886, 1681692777]),
            (0, [1804289383, 846930886, 1681692777]),
            (42, [71876166, 708592740, 1483128881]),
            (-3, [853660264, 1568971201, 1203662233]),
        ] {
            let mut rand = CRand::new(seed);
            assert_eq!([rand.next(), rand.next(), rand.next()], expected, "seed {seed}");
        }
    }

    #[test]
    fn probabilities() {
        let mut rand = CRand::new(7);
        let draws = 20_000;
        for p in [0.5, 0.01, 1e-9] {
            let hits = (0..draws).filter(|_| rand.with_probability(p)).count() as f32;
            let deviation = (draws as f32 * p * (1.0 - p)).sqrt();
            assert!((hits - draws as f32 * p).abs() <= 5.0 * deviation + 1.0, "{hits} for {p}");
        }
        let before = rand.clone().next();
        assert!(rand.with_probability(1.0) && !rand.with_probability(0.0) && rand.int(3, 3) == 3);
        assert_eq!(rand.next(), before, "certain things draw nothing");
    }

    #[test]
    fn shuffling_keeps_everything() {
        let mut items: Vec<i32> = (0..100).collect();
        CRand::new(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
