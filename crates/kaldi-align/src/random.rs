//! Numbers for decisions that are random, and the same in each run.

/// A linear congruential generator.
#[derive(Debug, Clone)]
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers(seed)
    }

    /// A generator whose numbers depend on a key and on the number of a draw.
    pub fn of_key(key: &str, draw: u64) -> Numbers {
        let first = draw.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Numbers(key.bytes().fold(first, |hash, byte| hash.wrapping_mul(7853).wrapping_add(byte.into())))
    }

    /// Draws a number between 0 and `i32::MAX`.
    pub fn draw(&mut self) -> i32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as i32
    }

    /// Draws a number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        self.draw() as usize % count
    }
}
