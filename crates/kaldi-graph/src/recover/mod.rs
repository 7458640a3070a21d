//! The tree of a model that was published without one: phones in context and their pdfs, from a decoding graph.
//!
//! A path of a graph has transition-ids, so each phone on it is known with its pdfs and with the phone before it.
//! [`seen_contexts`] collects these pairs of phones. [`SeenContexts::tree`] makes a tree of windows of two phones (the phone
//! before, the phone), as chain models have them. Pairs that no path has get the pdfs of the most similar pair.

mod fill;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeMap;

pub use fill::RecoveredTree;
pub use walk::seen_contexts;

/// A phone and the phone before it; 0 is the beginning of the utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhonePair {
    pub left: i32,
    pub phone: i32,
}

/// The pairs of phones on the paths of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SeenContexts {
    /// The transition state of each emitting state of the pair's phone, in the order of the topology. Pairs of which no path
    /// has all these states are missing.
    pub states: BTreeMap<PhonePair, Vec<usize>>,
    /// Number of arcs on which each phone begins.
    pub arcs: BTreeMap<i32, usize>,
}
