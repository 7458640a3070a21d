//! Lists of rows for two sequences become lists for many.

use super::{Places, irregular};
use crate::computation::RowOf;
use crate::error::Result;

/// What a list says of one row.
pub trait Item: Copy {
    /// Of a row that is left alone.
    const NONE: Self;
    /// The same so many rows later.
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

/// The list for `size` rows in place of `old`, which is for the rows that `places` knows. For an item of sequence 0
/// `source` gives the new one, and how many rows later that of the next sequence is; `None` for a row that is left alone.
pub fn expand<T: Item>(
    places: &Places,
    old: &[T],
    size: usize,
    source: impl Fn(T) -> Result<Option<(T, u32)>>,
) -> Result<Vec<T>> {
    let mut new = vec![T::NONE; size];
    let (count, stride) = (places.count as usize, places.stride as usize);
    // The items of sequence 0 that follow each other, and their distances to the next sequence.
    let (mut run, mut steps) = (Vec::with_capacity(stride), Vec::with_capacity(stride));
    let mut row = 0;
    while row < old.len() {
        let Some(first) = places.place(row) else {
            row += 1;
            continue;
        };
        run.clear();
        steps.clear();
        let left_in_block = stride - (places.old_offset as usize + row) % stride;
        for &item in old[row..].iter().take(left_in_block) {
            let Some((item, step)) = source(item)? else { break };
            run.push(item);
            steps.push(step);
        }
        if run.is_empty() {
            row += 1;
            continue;
        }
        row += run.len();
        let end = first + (count - 1) * stride + run.len();
        let places = new.get_mut(first..end).ok_or_else(irregular)?;
        match (&mut run[..], &steps[..]) {
            ([item], &[step]) if stride == 1 => places.iter_mut().for_each(|place| {
                *place = *item;
                *item = item.later(step);
            }),
            _ => {
                for places in places.chunks_mut(stride) {
                    places[..run.len()].copy_from_slice(&run);
                    run.iter_mut().zip(&steps).for_each(|(item, &step)| *item = item.later(step));
                }
            }
        }
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against each row by itself.
    #[test]
    fn every_sequence_gets_the_items_of_the_first() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..200 {
            let (stride, blocks, count) = (random.usize(1..5), random.usize(1..4), random.usize(3..7));
            let places = Places { count: count as u32, stride: stride as u32, old_offset: 0, new_offset: 0 };
            let items: Vec<Option<(i32, u32)>> = (0..2 * stride * blocks)
                .map(|_| (random.u8(0..4) > 0).then(|| (random.i32(0..100), random.u32(1..9))))
                .collect();
            // Items of the second sequence are not looked at.
            let old: Vec<i32> = (0..items.len() as i32).collect();
            let new = expand(&places, &old, blocks * count * stride, |row| Ok(items[row as usize])).unwrap();
            let expected = (0..new.len()).map(|row| {
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
