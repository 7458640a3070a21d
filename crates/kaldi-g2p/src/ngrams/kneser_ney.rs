//! Modified Kneser-Ney smoothing, interpolated (Chen and Goodman, "An empirical study of smoothing techniques for language
//! modeling", 1998, section 3.5).
//!
//! The count c of an n-gram of the highest order is its number of occurrences. Below, it is the number of different tokens before
//! it, or of occurrences if it begins with `BEGIN`. P(w|h) = (c(hw) − D(c(hw))) / c(h·) + γ(h) P(w|h′), where h′ is h without its
//! first token, and D has three values an order, for counts of 1, 2 and more. γ(h) makes the sum 1. The last h′
//! gives all tokens the same probability.

use super::counts::Counts;
use super::{BEGIN, LEAST_LOG_PROB, Ngrams, ROOT};

/// Discounts where the counts of counts do not give any.
const USUAL: [f64; 3] = [0.5, 1.0, 1.5];

/// Discounts for counts of 1, 2, and 3 or more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Discounts([f64; 3]);

impl Discounts {
    /// Returns discounts from the numbers of n-grams with counts of 1, 2, 3 and 4.
    pub fn new(counts_of_counts: [u64; 4]) -> Discounts {
        let numbers = counts_of_counts.map(|n| n as f64);
        let y = numbers[0] / (numbers[0] + 2.0 * numbers[1]);
        let mut discounts = USUAL;
        for (place, discount) in discounts.iter_mut().enumerate() {
            let count = (place + 1) as f64;
            let found = count - (count + 1.0) * y * numbers[place + 1] / numbers[place];
            let is_known = numbers[0] > 0.0 && numbers[place] > 0.0 && numbers[place + 1] > 0.0;
            if is_known && found > 0.0 {
                *discount = found;
            }
        }
        Discounts(discounts)
    }

    fn of(self, count: u32) -> f64 {
        match count {
            0 => 0.0,
            1..=3 => self.0[count as usize - 1],
            _ => self.0[2],
        }
    }
}

/// Estimates a model of n-grams of up to `order` tokens, at most the order of the counts. N-grams of more than two tokens
/// with fewer than `min_count` occurrences are left out, and their probability goes to shorter histories.
pub fn estimate(counts: &Counts, order: usize, min_count: u32) -> Ngrams {
    let levels: Vec<usize> = counts.levels[..(order + 2).min(counts.levels.len())].to_vec();
    let order = levels.len() - 2;
    let nodes = levels[order + 1];
    let highest = levels[order]..nodes;
    let children = |node: usize| {
        let range = counts.first_children[node] as usize..counts.first_children[node + 1] as usize;
        if highest.contains(&node) { 0..0 } else { range }
    };
    let suffixes = suffixes(counts, &levels);
    let adjusted = adjusted_counts(counts, &levels, &suffixes);
    let kept = kept(counts, &levels, min_count);

    let vocabulary = (levels[2.min(levels.len() - 1)] - levels[1]).max(2) - 1;
    let mut probabilities = vec![0.0f64; nodes];
    let mut gammas = vec![1.0f64; nodes];
    for level in 1..=order {
        let discounts = discounts(&adjusted[levels[level]..levels[level + 1]]);
        let histories = levels[level - 1]..levels[level];
        for (history, gamma) in histories.clone().zip(&mut gammas[histories]) {
            // The beginning is never predicted.
            let predicted = |&child: &usize| history as u32 != ROOT || counts.tokens[child] != BEGIN;
            let range = children(history);
            let total: f64 = range.clone().filter(predicted).map(|child| f64::from(adjusted[child])).sum();
            if total == 0.0 {
                continue;
            }
            let taken = |child: usize| {
                if kept[child] { discounts.of(adjusted[child]) } else { f64::from(adjusted[child]) }
            };
            *gamma = range.clone().filter(predicted).map(taken).sum::<f64>() / total;
            for child in range.filter(predicted).filter(|&child| kept[child]) {
                let shorter = if level == 1 {
                    1.0 / vocabulary as f64
                } else {
                    probabilities[suffixes[child] as usize]
                };
                let own = (f64::from(adjusted[child]) - discounts.of(adjusted[child])) / total;
                probabilities[child] = own + *gamma * shorter;
            }
        }
    }
    compact(counts, &levels, &kept, &probabilities, &gammas)
}

/// The n-gram without its first token, which is there for every n-gram.
fn suffixes(counts: &Counts, levels: &[usize]) -> Vec<u32> {
    let mut suffixes = vec![ROOT; levels[levels.len() - 1]];
    let range = |node: usize| counts.first_children[node] as usize..counts.first_children[node + 1] as usize;
    for level in 2..levels.len() - 1 {
        for parent in levels[level - 1]..levels[level] {
            let shorter = range(suffixes[parent] as usize);
            for child in range(parent) {
                let place = counts.tokens[shorter.clone()].binary_search(&counts.tokens[child]);
                suffixes[child] = (shorter.start + place.unwrap_or(0)) as u32;
            }
        }
    }
    suffixes
}

fn adjusted_counts(counts: &Counts, levels: &[usize], suffixes: &[u32]) -> Vec<u32> {
    let order = levels.len() - 2;
    let nodes = levels[order + 1];
    let mut adjusted = vec![0u32; nodes];
    for node in levels[2.min(order + 1)]..nodes {
        adjusted[suffixes[node] as usize] += 1;
    }
    let mut begins = vec![false; nodes];
    if order > 0 {
        begins[levels[1] + BEGIN as usize] = true;
    }
    for parent in levels[1.min(order)]..levels[order] {
        if begins[parent] {
            let range = counts.first_children[parent] as usize..counts.first_children[parent + 1] as usize;
            begins[range].fill(true);
        }
    }
    for node in 0..nodes {
        if begins[node] || node >= levels[order] {
            adjusted[node] = counts.counts[node];
        }
    }
    // The beginning itself is not counted: it is never predicted.
    if order > 0 {
        adjusted[levels[1] + BEGIN as usize] = 0;
    }
    adjusted
}

/// N-grams that occur often enough, and the beginnings of these.
fn kept(counts: &Counts, levels: &[usize], min_count: u32) -> Vec<bool> {
    let order = levels.len() - 2;
    let nodes = levels[order + 1];
    let mut kept: Vec<bool> = (0..nodes).map(|node| counts.counts[node] >= min_count).collect();
    let always = levels[3.min(order + 1)];
    kept[..always].fill(true);
    kept
}

fn discounts(adjusted: &[u32]) -> Discounts {
    let mut counts_of_counts = [0u64; 4];
    for &count in adjusted {
        if let 1..=4 = count {
            counts_of_counts[count as usize - 1] += 1;
        }
    }
    Discounts::new(counts_of_counts)
}

/// Makes the model of the n-grams that are kept.
fn compact(
    counts: &Counts,
    levels: &[usize],
    kept: &[bool],
    probabilities: &[f64],
    gammas: &[f64],
) -> Ngrams {
    let order = levels.len() - 2;
    let nodes = levels[order + 1];
    let mut new_numbers = Vec::with_capacity(nodes + 1);
    let mut number = 0u32;
    for &is_kept in &kept[..nodes] {
        new_numbers.push(number);
        number += u32::from(is_kept);
    }
    new_numbers.push(number);
    let mut ngrams = Ngrams::default();
    for node in (0..nodes).filter(|&node| kept[node]) {
        let last = node >= levels[order];
        let range =
            [node, node + 1].map(|node| if last { nodes } else { counts.first_children[node] as usize });
        let [first, end] = range.map(|child| new_numbers[child]);
        ngrams.tokens.push(counts.tokens[node]);
        ngrams.log_probs.push((probabilities[node].ln() as f32).max(LEAST_LOG_PROB));
        ngrams.backoffs.push(if first < end { gammas[node].ln() as f32 } else { 0.0 });
        ngrams.first_children.push(first);
    }
    ngrams.first_children.push(number);
    ngrams.log_probs[ROOT as usize] = 0.0;
    ngrams.backoffs[ROOT as usize] = 0.0;
    ngrams.levels = levels.iter().map(|&start| new_numbers[start] as usize).collect();
    ngrams.link();
    ngrams
}

#[cfg(test)]
mod tests;
