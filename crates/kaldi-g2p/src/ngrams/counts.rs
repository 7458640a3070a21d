//! Numbers of occurrences of all n-grams of sequences.

use super::{BEGIN, END};

/// N-grams as nodes of a tree; see [`super::Ngrams`] for the order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    /// Graphones of the nodes.
    pub tokens: Vec<u32>,
    /// Their counts.
    pub counts: Vec<u32>,
    /// The first child of each node.
    pub first_children: Vec<u32>,
    /// The first node of each length of n-grams.
    pub levels: Vec<usize>,
}

/// The nodes of one level while the tree grows.
#[derive(Debug, Clone, Default)]
struct Level {
    tokens: Vec<u32>,
    counts: Vec<u32>,
    first_children: Vec<u32>,
}

impl Counts {
    /// Counts n-grams of up to `order` tokens. Sequences get `BEGIN` and `END`. Each token below `vocabulary` is an
    /// n-gram, even if it does not occur.
    pub fn new<'s>(sequences: impl Iterator<Item = &'s [u32]>, vocabulary: u32, order: usize) -> Counts {
        let mut flat: Vec<u32> = Vec::new();
        for sequence in sequences {
            flat.push(BEGIN);
            flat.extend_from_slice(sequence);
            flat.push(END);
        }
        let mut lengths = vec![0usize; flat.len()];
        let mut left = 0;
        for (length, &token) in lengths.iter_mut().zip(&flat).rev() {
            left = if token == END { 1 } else { left + 1 };
            *length = left.min(order);
        }
        let ngram = |&place: &u32| &flat[place as usize..place as usize + lengths[place as usize]];
        let mut places: Vec<u32> = (0..flat.len() as u32).collect();
        places.sort_unstable_by(|a, b| ngram(a).cmp(ngram(b)));

        let mut levels = vec![Level::default(); order + 1];
        let mut before: &[u32] = &[];
        for place in &places {
            let tokens = ngram(place);
            let shared = before.iter().zip(tokens).take_while(|(a, b)| a == b).count();
            if shared == 0 {
                add_unseen(&mut levels, tokens[0]);
            }
            for (depth, &token) in tokens.iter().enumerate().skip(shared) {
                add(&mut levels, depth + 1, token);
            }
            for level in &mut levels[1..=tokens.len()] {
                if let Some(count) = level.counts.last_mut() {
                    *count += 1;
                }
            }
            before = tokens;
        }
        add_unseen(&mut levels, vocabulary);
        Counts::join(levels)
    }

    fn join(mut levels: Vec<Level>) -> Counts {
        levels[0] = Level { tokens: vec![END], counts: vec![0], first_children: vec![0] };
        let mut all = Counts::default();
        for (depth, level) in levels.iter().enumerate() {
            // A level without n-grams ends the tree.
            if level.tokens.is_empty() {
                break;
            }
            all.levels.push(all.tokens.len());
            let next = (all.tokens.len() + level.tokens.len()) as u32;
            all.tokens.extend(&level.tokens);
            all.counts.extend(&level.counts);
            if depth + 1 < levels.len() {
                all.first_children.extend(level.first_children.iter().map(|first| next + first));
            } else {
                all.first_children.extend(level.tokens.iter().map(|_| next));
            }
        }
        all.levels.push(all.tokens.len());
        all.first_children.push(all.tokens.len() as u32);
        all
    }
}

/// Adds a node behind the last one of the level above.
fn add(levels: &mut [Level], depth: usize, token: u32) {
    let first_child = levels.get(depth + 1).map_or(0, |level| level.tokens.len()) as u32;
    let level = &mut levels[depth];
    level.tokens.push(token);
    level.counts.push(0);
    level.first_children.push(first_child);
}

/// Adds the single tokens up to `token` that do not occur.
fn add_unseen(levels: &mut [Level], token: u32) {
    for unseen in levels[1].tokens.len() as u32..token {
        add(levels, 1, unseen);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// All n-grams with their numbers, read from the tree.
    fn listed(counts: &Counts) -> BTreeMap<Vec<u32>, u32> {
        let mut all: Vec<Vec<u32>> = vec![Vec::new(); counts.tokens.len()];
        for node in 0..counts.tokens.len() {
            for child in counts.first_children[node]..counts.first_children[node + 1] {
                let mut ngram = all[node].clone();
                ngram.push(counts.tokens[child as usize]);
                all[child as usize] = ngram;
            }
        }
        all.into_iter().zip(counts.counts.iter().copied()).skip(1).collect()
    }

    #[test]
    fn counts_equal_those_of_a_slow_loop() {
        let mut random = fastrand::Rng::with_seed(1);
        for order in 1..6 {
            let sequences: Vec<Vec<u32>> =
                (0..30).map(|_| (0..random.usize(0..7)).map(|_| random.u32(2..6)).collect()).collect();
            let counts = Counts::new(sequences.iter().map(Vec::as_slice), 8, order);
            let mut slow: BTreeMap<Vec<u32>, u32> = (0..8).map(|token| (vec![token], 0)).collect();
            for sequence in &sequences {
                let marked = [&[BEGIN], &sequence[..], &[END]].concat();
                for length in 1..=order.min(marked.len()) {
                    for ngram in marked.windows(length) {
                        *slow.entry(ngram.to_vec()).or_default() += 1;
                    }
                }
            }
            assert_eq!(listed(&counts), slow, "order {order}");
        }
    }
}
