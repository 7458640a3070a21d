//! The random numbers of `std::mt19937` (Matsumoto and Nishimura, "Mersenne twister", 1998), and the order that libstdc++'s
//! `std::shuffle` gives with them. The reference shuffles whole tables of examples so.

const SIZE: usize = 624;
const MIDDLE: usize = 397;

/// Two equal seeds give equal sequences.
#[derive(Debug, Clone)]
pub struct Mersenne {
    state: [u32; SIZE],
    at: usize,
}

impl Mersenne {
    /// Makes a generator with the seed of `--srand`.
    pub fn new(seed: i32) -> Mersenne {
        let mut state = [0; SIZE];
        state[0] = seed as u32;
        for i in 1..SIZE {
            let before = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(i as u32);
        }
        Mersenne { state, at: SIZE }
    }

    /// Uniform over all numbers of 32 bits.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u32 {
        if self.at == SIZE {
            self.refill();
        }
        let mut y = self.state[self.at];
        self.at += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    fn refill(&mut self) {
        for i in 0..SIZE {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % SIZE] & 0x7fff_ffff);
            let twist = if y & 1 == 0 { 0 } else { 0x9908_b0df };
            self.state[i] = self.state[(i + MIDDLE) % SIZE] ^ (y >> 1) ^ twist;
        }
        self.at = 0;
    }

    /// Uniform below `end`, which is above 0 (Lemire, "Fast random integer generation in an interval", 2019).
    fn below(&mut self, end: u32) -> u32 {
        let end = u64::from(end);
        let mut product = u64::from(self.next()) * end;
        let threshold = (1 << 32) % end;
        while product % (1 << 32) < threshold {
            product = u64::from(self.next()) * end;
        }
        (product >> 32) as u32
    }

    /// A random order. Places are drawn two at a time while the list is short enough for that.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        let mut i = 1;
        if (items.len() as u64).pow(2) <= u64::from(u32::MAX) {
            if items.len().is_multiple_of(2) && !items.is_empty() {
                items.swap(1, self.below(2) as usize);
                i = 2;
            }
            while i < items.len() {
                let range = i as u32 + 2;
                let both = self.below((range - 1) * range);
                items.swap(i, (both / range) as usize);
                items.swap(i + 1, (both % range) as usize);
                i += 2;
            }
        }
        while i < items.len() {
            items.swap(i, self.below(i as u32 + 1) as usize);
            i += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number that the C++ standard gives for `std::mt19937`.
    #[test]
    fn the_ten_thousandth_number() {
        let mut mersenne = Mersenne::new(5489);
        assert_eq!((0..10_000).map(|_| mersenne.next()).last(), Some(4_123_659_995));
    }

    /// The order of 16 examples that the reference has shuffled with `--srand=1`.
    #[test]
    fn the_order_of_the_reference() {
        let mut items: Vec<usize> = (0..16).collect();
        Mersenne::new(1).shuffle(&mut items);
        assert_eq!(items, ORDER);
        let mut long: Vec<u32> = (0..70_000).collect();
        Mersenne::new(2).shuffle(&mut long);
        assert!(!long.is_sorted());
        long.sort_unstable();
        assert!(long.into_iter().eq(0..70_000));
        for length in 0..3 {
            let mut few: Vec<usize> = (0..length).collect();
            Mersenne::new(3).shuffle(&mut few);
            few.sort_unstable();
            assert!(few.into_iter().eq(0..length));
        }
    }

    const ORDER: [usize; 16] = [9, 10, 2, 12, 11, 4, 6, 3, 1, 8, 0, 7, 5, 13, 14, 15];
}
