//! N-grams of graphones: [`counts`] from sequences, [`kneser_ney`] estimates, [`arpa`] and [`binary`] are the forms of files.
//!
//! Tokens are numbers: [`END`], [`BEGIN`], and from [`FIRST`] on the graphones in the order of their inventory. N-grams are nodes
//! of a tree, level by level; within a level they are in the order of their tokens. So the children of a node are
//! neighbours, and so are its children with the same letters.

pub mod arpa;
pub mod binary;
pub mod counts;
pub mod kneser_ney;

use std::ops::Range;

/// The end of a word, `</s>`.
pub const END: u32 = 0;
/// The beginning of a word, `<s>`: a history, never predicted.
pub const BEGIN: u32 = 1;
/// The first graphone.
pub const FIRST: u32 = 2;
/// The node of the empty history.
pub const ROOT: u32 = 0;

/// The logarithm of 0 in ARPA files, -99, as a natural one.
pub const LEAST_LOG_PROB: f32 = -99.0 * std::f32::consts::LN_10;

/// Larger logarithms of backoff weights are nonsense.
pub const MOST_BACKOFF: f32 = 100.0;

/// A model of token sequences with backoff.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ngrams {
    /// Last token of each node.
    pub tokens: Vec<u32>,
    /// Natural logarithms of probabilities.
    pub log_probs: Vec<f32>,
    /// Natural logarithms of backoff weights.
    pub backoffs: Vec<f32>,
    /// The first child of each node; the children of a node end where those of the next begin.
    pub first_children: Vec<u32>,
    /// The longest n-gram that is an end of this one.
    pub suffixes: Vec<u32>,
    /// The first node of each level, and the number of nodes.
    pub levels: Vec<usize>,
    /// The history after each node: the node, or a suffix if the node has no children.
    pub histories: Vec<u32>,
}

impl Ngrams {
    /// Number of tokens in the longest n-grams.
    pub fn order(&self) -> usize {
        self.levels.len().saturating_sub(2)
    }

    /// Number of n-grams of each length from 1.
    pub fn sizes(&self) -> Vec<usize> {
        self.levels.windows(2).skip(1).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Returns the nodes that continue a node.
    pub fn children(&self, node: u32) -> Range<usize> {
        self.first_children[node as usize] as usize..self.first_children[node as usize + 1] as usize
    }

    /// Returns the child with a token.
    pub fn child(&self, node: u32, token: u32) -> Option<u32> {
        let range = self.children(node);
        let place = self.tokens[range.clone()].binary_search(&token).ok()?;
        Some((range.start + place) as u32)
    }

    /// True if a token behind the node has another probability than behind its suffix.
    pub fn is_history(&self, node: u32) -> bool {
        node == ROOT || !self.children(node).is_empty() || self.backoffs[node as usize] != 0.0
    }

    /// The history of the first token.
    pub fn start(&self) -> u32 {
        self.histories[1 + BEGIN as usize]
    }

    /// Returns the natural logarithm of a token's probability, and the history behind it.
    pub fn score(&self, mut history: u32, token: u32) -> (f32, u32) {
        let mut weight = 0.0;
        loop {
            if let Some(child) = self.child(history, token) {
                return (weight + self.log_probs[child as usize], self.histories[child as usize]);
            }
            if history == ROOT {
                return (f32::NEG_INFINITY, ROOT);
            }
            weight += self.backoffs[history as usize];
            history = self.suffixes[history as usize];
        }
    }

    /// Returns the natural logarithm of the probability of a sequence with its end.
    pub fn score_sequence(&self, tokens: &[u32]) -> f64 {
        let mut history = self.start();
        let mut sum = 0.0;
        for &token in tokens.iter().chain([&END]) {
            let (log_prob, next) = self.score(history, token);
            sum += f64::from(log_prob);
            history = next;
        }
        sum
    }

    /// Finds suffixes and histories from the other fields.
    pub(crate) fn link(&mut self) {
        self.suffixes = vec![ROOT; self.tokens.len()];
        for level in 2..self.levels.len().saturating_sub(1) {
            for parent in self.levels[level - 1]..self.levels[level] {
                for child in self.children(parent as u32) {
                    let mut suffix = self.suffixes[parent];
                    self.suffixes[child] = loop {
                        match self.child(suffix, self.tokens[child]) {
                            Some(found) => break found,
                            None if suffix == ROOT => break ROOT,
                            None => suffix = self.suffixes[suffix as usize],
                        }
                    };
                }
            }
        }
        self.find_histories();
    }

    /// Finds histories from the other fields.
    pub(crate) fn find_histories(&mut self) {
        self.histories = Vec::with_capacity(self.tokens.len());
        for node in 0..self.tokens.len() as u32 {
            let shorter = self.suffixes[node as usize] as usize;
            let history = if self.is_history(node) { node } else { self.histories[shorter] };
            self.histories.push(history);
        }
    }
}
