//! The stretches that two sequences of words share, in the manner of Ratcliff and Obershelp: the longest one, and then the
//! longest ones before and behind it.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// A stretch of equal words: its places in both sequences, and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Block {
    pub first: usize,
    pub second: usize,
    pub size: usize,
}

/// The stretches in the order of places. Neighbours are one stretch. Of longest ones the earliest of `first` counts, and then the
/// earliest of `second`.
pub(super) fn blocks(first: &[&str], second: &[&str]) -> Vec<Block> {
    let mut places: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (place, &word) in second.iter().enumerate() {
        places.entry(word).or_default().push(place);
    }
    let mut found = Vec::new();
    let mut left = vec![(0..first.len(), 0..second.len())];
    while let Some((a, b)) = left.pop() {
        let Some(block) = longest(first, &places, a.clone(), b.clone()) else { continue };
        left.push((a.start..block.first, b.start..block.second));
        left.push((block.first + block.size..a.end, block.second + block.size..b.end));
        found.push(block);
    }
    found.sort();
    found.dedup_by(|next, before| {
        let joins = before.first + before.size == next.first && before.second + before.size == next.second;
        if joins {
            before.size += next.size;
        }
        joins
    });
    found
}

fn longest(
    first: &[&str],
    places: &FxHashMap<&str, Vec<usize>>,
    a: Range<usize>,
    b: Range<usize>,
) -> Option<Block> {
    let mut best: Option<Block> = None;
    // Lengths of stretches that end at a word of `first`, by the place behind their end in `second`.
    let mut before: FxHashMap<usize, usize> = FxHashMap::default();
    for i in a {
        let mut now = FxHashMap::default();
        let all = places.get(first[i]).map_or(&[][..], Vec::as_slice);
        let from = all.partition_point(|&j| j < b.start);
        for &j in all[from..].iter().take_while(|&&j| j < b.end) {
            let size = before.get(&j).map_or(1, |size| size + 1);
            now.insert(j + 1, size);
            if best.is_none_or(|best| size > best.size) {
                best = Some(Block { first: i + 1 - size, second: j + 1 - size, size });
            }
        }
        before = now;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: all pairs of places are tried.
    fn slowly(first: &[&str], second: &[&str], (i0, j0): (usize, usize), found: &mut Vec<Block>) {
        let mut best = Block { first: 0, second: 0, size: 0 };
        for i in 0..first.len() {
            for j in 0..second.len() {
                let size = first[i..].iter().zip(&second[j..]).take_while(|(a, b)| a == b).count();
                if size > best.size {
                    best = Block { first: i, second: j, size };
                }
            }
        }
        let Block { first: i, second: j, size } = best;
        if size > 0 {
            slowly(&first[..i], &second[..j], (i0, j0), found);
            match found.last_mut() {
                Some(last) if last.first + last.size == i0 + i && last.second + last.size == j0 + j => {
                    last.size += size
                }
                _ => found.push(Block { first: i0 + i, second: j0 + j, size }),
            }
            slowly(&first[i + size..], &second[j + size..], (i0 + i + size, j0 + j + size), found);
        }
    }

    #[test]
    fn stretches_are_those_of_the_definition() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut draw = |words: &[&'static str]| -> Vec<&'static str> {
            (0..random.usize(0..30)).map(|_| words[random.usize(0..words.len())]).collect()
        };
        for round in 0..300 {
            let words = &["a", "b", "c", "d", "e", "f"][..2 + round % 5];
            let (first, second) = (draw(words), draw(words));
            let mut expected = Vec::new();
            slowly(&first, &second, (0, 0), &mut expected);
            // (Joined neighbours may differ in the order of the recursion only.)
            assert_eq!(blocks(&first, &second), expected, "{first:?} {second:?}");
        }
    }
}
