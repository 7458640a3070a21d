//! Posteriors of transition-ids as weights of pdfs.
//!
//! The reference collects the pdfs of a frame in a hash table of the C++ library (`std::unordered_map`) and takes them
//! in its order. The order matters if random numbers are drawn for each pdf. This module reproduces the order: a new
//! pdf goes before the others in its bucket or, if the bucket is empty, before all pdfs. The number of buckets grows
//! with the number of pdfs.

use crate::error::Result;
use kaldi_hmm::TransitionModel;
use kaldi_io::Posterior;

/// Successive numbers of buckets of the table. They are primes, each at least twice its predecessor.
const BUCKETS: [u32; 16] =
    [13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229, 172_933, 351_061, 712_697];

/// Adds up, for each frame, the probabilities of the transition-ids of each pdf in single precision. Sums that are 0
/// are left out. Fails for a transition-id that the model does not have.
pub fn pdf_posterior(transitions: &TransitionModel, posterior: &Posterior) -> Result<Posterior> {
    let frame = |entries: &Vec<(i32, f32)>| -> Result<Vec<(i32, f32)>> {
        let mut table = Table::default();
        for &(id, weight) in entries {
            table.add(transitions.pdf(transitions.transition_id(id)?), weight);
        }
        Ok(table.entries.into_iter().filter(|entry| entry.1 != 0.0).collect())
    };
    posterior.iter().map(frame).collect()
}

/// Sums by pdf, in the order of the hash table.
#[derive(Default)]
struct Table {
    entries: Vec<(i32, f32)>,
    /// Index into [`BUCKETS`].
    size: usize,
}

impl Table {
    fn add(&mut self, pdf: i32, weight: f32) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.0 == pdf) {
            entry.1 += weight;
            return;
        }
        if self.entries.len() >= BUCKETS[self.size] as usize && self.size + 1 < BUCKETS.len() {
            self.size += 1;
            for entry in std::mem::take(&mut self.entries) {
                self.insert(entry);
            }
        }
        self.insert((pdf, weight));
    }

    fn insert(&mut self, entry: (i32, f32)) {
        let bucket = |pdf: i32| pdf as u32 % BUCKETS[self.size];
        let first = self.entries.iter().position(|other| bucket(other.0) == bucket(entry.0));
        self.entries.insert(first.unwrap_or(0), entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(pdfs: impl IntoIterator<Item = i32>) -> Vec<i32> {
        let mut table = Table::default();
        pdfs.into_iter().for_each(|pdf| table.add(pdf, 1.0));
        table.entries.into_iter().map(|entry| entry.0).collect()
    }

    /// Orders that a C++ program with `std::unordered_map<int, float>` (GNU library) prints.
    #[test]
    fn order_of_the_hash_table() {
        assert_eq!(order([1, 2, 3]), [3, 2, 1]);
        assert_eq!(order([1, 14, 2, 27, 15]), [15, 2, 27, 14, 1]);
        let grown = [23, 16, 9, 14, 1, 21, 8, 28, 15, 2, 35, 22, 0, 29, 7, 36];
        assert_eq!(order((0..16).map(|i| i * 7 % 41)), grown);
        let grown_twice = [
            89, 292, 941, 858, 896, 837, 981, 517, 436, 476, 565, 447, 775, 224, 0, 957, 296, 119, 496, 878,
            760, 987, 279, 124, 522, 109, 254, 149, 31, 94, 983, 74, 710, 993, 49, 432, 19, 665, 907, 376,
        ];
        assert_eq!(order((0..40).map(|i| i * i * 31 % 997)), grown_twice);
    }

    #[test]
    fn sums() {
        let mut table = Table::default();
        [(3, 0.5), (1, 0.25), (3, 0.125)].into_iter().for_each(|(pdf, weight)| table.add(pdf, weight));
        assert_eq!(table.entries, [(1, 0.25), (3, 0.625)]);
    }
}
