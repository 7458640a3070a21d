//! Shuffling a table, wholly in memory or through a buffer of bounded size.

use std::collections::BTreeMap;

use nnet3_core::CRand;

/// Shuffles through a fixed number of slots: an item that falls on a full slot pushes out the old one.
#[derive(Debug)]
pub struct ShuffleBuffer<T> {
    slots: usize,
    /// The entries by slot. (There may be more slots than memory.)
    full: BTreeMap<usize, T>,
    rand: CRand,
}

impl<T> ShuffleBuffer<T> {
    /// # Panics
    /// If there are no slots.
    pub fn new(slots: usize, rand: CRand) -> Self {
        assert!(slots > 0, "a shuffle buffer needs slots");
        ShuffleBuffer { slots, full: BTreeMap::new(), rand }
    }

    /// Puts an item in; returns the item that it pushes out, if any.
    pub fn push(&mut self, item: T) -> Option<T> {
        let slot = self.rand.int(0, self.slots as i32 - 1) as usize;
        self.full.insert(slot, item)
    }

    /// Returns the remaining items, in the order of the slots.
    pub fn finish(self) -> impl Iterator<Item = T> {
        self.full.into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_out_once_and_mixed() {
        for slots in [1, 7, 1000] {
            let mut buffer = ShuffleBuffer::new(slots, CRand::new(5));
            let mut out: Vec<u32> = (0..100).filter_map(|i| buffer.push(i)).collect();
            assert!(out.len() >= 100usize.saturating_sub(slots), "no more is kept than there are slots");
            out.extend(buffer.finish());
            assert_eq!(out.is_sorted(), slots == 1);
            out.sort();
            assert_eq!(out, (0..100).collect::<Vec<_>>());
        }
    }
}
