//! A random subset of a table of unknown length (reservoir sampling).

use nnet3_core::{CRand, Mersenne};

/// Keeps at most a fixed number of items, all that were offered being equally likely.
#[derive(Debug)]
pub struct Subset<T> {
    wanted: usize,
    offered: u64,
    kept: Vec<T>,
    rand: CRand,
}

impl<T> Subset<T> {
    /// Keeps `wanted` items, which `rand` chooses.
    pub fn new(wanted: usize, rand: CRand) -> Self {
        Subset { wanted, offered: 0, kept: Vec::new(), rand }
    }

    pub fn offer(&mut self, item: T) {
        self.offered += 1;
        if self.kept.len() < self.wanted {
            self.kept.push(item);
        } else if self.rand.with_probability(self.wanted as f32 / self.offered as f32) {
            let slot = self.rand.int(0, self.wanted as i32 - 1) as usize;
            self.kept[slot] = item;
        }
    }

    /// The items that were kept, in random order if there is an `order`.
    pub fn finish(mut self, order: Option<Mersenne>) -> Vec<T> {
        if let Some(mut order) = order {
            order.shuffle(&mut self.kept);
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_equally_likely() {
        let mut hits = [0; 20];
        for seed in 0..2000 {
            let mut subset = Subset::new(5, CRand::new(seed));
            (0..20).for_each(|i| subset.offer(i));
            let kept = subset.finish(Some(Mersenne::new(seed)));
            assert_eq!(kept.len(), 5);
            kept.iter().for_each(|&i| hits[i as usize] += 1);
        }
        // 500 each; the standard deviation is about 19.
        assert!(hits.iter().all(|h| (400..600).contains(h)), "{hits:?}");
    }

    #[test]
    fn small_tables_and_empty_subsets() {
        let mut all = Subset::new(10, CRand::default());
        (0..4).for_each(|i| all.offer(i));
        assert_eq!(all.finish(None), [0, 1, 2, 3]);
        let mut none = Subset::new(0, CRand::default());
        (0..4).for_each(|i| none.offer(i));
        assert!(none.finish(Some(Mersenne::new(1))).is_empty());
    }
}
