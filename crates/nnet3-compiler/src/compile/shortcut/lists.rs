//! Expands lists of rows for two sequences into lists for many.

use super::{Places, irregular};
use crate::computation::RowOf;
use nnet3_base::error::Result;

/// The entry of a list for one row.
pub trait Item: Copy + PartialEq {
    /// The item of a row that is left alone.
    const NONE: Self;
    /// Returns this item moved by `rows` rows.
    fn later(self, rows: u32) -> Self;
}

impl Item for i32 {
    const NONE: i32 = -1;
    fn later(self, rows: u32) -> i32 {
        self.wrapping_add(rows as i32)
    }
}

impl Item for (i32, i32) {
    const NONE: (i32, i32) = (-1, -1);
    fn later(self, rows: u32) -> (i32, i32) {
        (self.0.later(rows), self.1.later(rows))
    }
}

impl Item for RowOf {
    const NONE: RowOf = None;
    fn later(self, rows: u32) -> RowOf {
        self.map(|(s, row)| (s, row.wrapping_add(rows)))
    }
}

/// Expands the list `old`, for the rows in `places`, to a list for `size` rows. For an item of sequence 0, `source`
/// returns the new item and the distance in rows to that of the next sequence. It returns `None` for a row that
/// stays as it is.
pub fn expand<T: Item>(
    places: &Places,
    old: &[T],
    size: usize,
    source: impl Fn(T) -> Result<Option<(T, u32)>>,
) -> Result<Vec<T>> {
    let (count, stride) = (places.count as usize, places.stride as usize);
    let mut new = Vec::with_capacity(size + stride);
    // Entries of sequence 0 in one block; rows that the list lacks are left alone.
    let (mut items, mut steps) = (Vec::with_capacity(stride), Vec::with_capacity(stride));
    // Number of rows that the first block lacks.
    let mut missing = places.old_offset as usize % (2 * stride);
    let mut rest = old;
    while !rest.is_empty() {
        let (block, others) = rest.split_at(rest.len().min(2 * stride - missing));
        items.clear();
        steps.clear();
        for item in std::iter::repeat_n(None, missing).chain(block.iter().map(Some)).take(stride) {
            let (item, step) = item.map_or(Ok(None), |&item| source(item))?.unwrap_or((T::NONE, 0));
            items.push(item);
            steps.push(step);
        }
        items.resize(stride, T::NONE);
        steps.resize(stride, 0);
        match (&items[..], &steps[..]) {
            (&[item], &[step]) => {
                let mut next = item;
                new.extend((0..count).map(|_| {
                    let later = next.later(step);
                    std::mem::replace(&mut next, later)
                }));
            }
            _ => {
                for n in 0..count {
                    new.extend_from_slice(&items[if n == 0 { missing } else { 0 }..]);
                    items.iter_mut().zip(&steps).for_each(|(item, &step)| *item = item.later(step));
                }
            }
        }
        (rest, missing) = (others, 0);
    }
    if new[size.min(new.len())..].iter().any(|&item| item != T::NONE) {
        return Err(irregular());
    }
    new.resize(size, T::NONE);
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with an expansion row by row.
    #[test]
    fn every_sequence_gets_the_items_of_the_first() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..200 {
            let (stride, blocks, count) = (random.usize(1..5), random.usize(1..4), random.usize(3..7));
            // Rows that the first block lacks at its beginning, and the last one at its end.
            let (before, after) = (random.usize(0..stride), random.usize(0..stride));
            let places = Places {
                count: count as u32,
                stride: stride as u32,
                old_offset: (2 * stride + before) as u32,
                new_offset: (count * stride + before) as u32,
            };
            let all = 2 * stride * blocks;
            let items: Vec<Option<(i32, u32)>> = (0..all)
                .map(|row| {
                    let lacks = row < before || (row + stride >= all - after && row < all - stride);
                    let some = !lacks && random.u8(0..4) > 0;
                    some.then(|| (random.i32(0..100), random.u32(1..9)))
                })
                .collect();
            // Items of the second sequence are not read.
            let old: Vec<i32> = (before as i32..(all - after) as i32).collect();
            let size = blocks * count * stride - before - after;
            let new = expand(&places, &old, size, |row| Ok(items[row as usize])).unwrap();
            let expected = (before..before + size).map(|row| {
                let (block, n, within) = (row / (count * stride), row / stride % count, row % stride);
                items[block * 2 * stride + within].map_or(-1, |(row, step)| row + (n as u32 * step) as i32)
            });
            assert!(expected.eq(new.iter().copied()));
        }
    }

    #[test]
    fn items_without_a_place_are_refused() {
        let places = Places { count: 5, stride: 2, old_offset: 0, new_offset: 0 };
        assert!(expand(&places, &[1, 2, 3, 4], 9, |row: i32| Ok(Some((row, 1)))).is_err());
        assert!(expand(&places, &[1, 2, 3, 4], 9, |row: i32| Ok((row == 1).then_some((row, 1)))).is_ok());
    }
}
