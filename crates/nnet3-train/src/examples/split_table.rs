//! The choice of chunk sizes into which utterances of each length are cut.

use crate::error::{Error, Result};

/// Splits within this margin of the best cost are all used, at random. It is just below 2: ties of the cost function
/// (which counts in ones and twos) are kept, and the next step is not.
const COST_MARGIN: f32 = 1.9999;

/// The chunk sizes that may be used, and for each utterance length the sets of sizes that fit it best.
#[derive(Debug, Clone)]
pub(crate) struct SplitTable {
    principal: usize,
    overlap: usize,
    /// For each length up to the longest tabulated one, equally good choices of sizes, each sorted.
    by_length: Vec<Vec<Vec<usize>>>,
}

impl SplitTable {
    /// `sizes` are multiples of the subsampling factor, the principal one first; `overlap` is below that.
    pub fn new(sizes: &[usize], overlap: usize) -> Result<SplitTable> {
        let (&principal, &longest) = match (sizes.first(), sizes.iter().max()) {
            (Some(first), Some(longest)) if *first > 0 => (first, longest),
            _ => return Err(Error::options("`num-frames` needs at least one number above 0")),
        };
        if overlap >= principal {
            return Err(Error::options(format!(
                "`num-frames-overlap`={overlap} must be less than the (first) `num-frames`={principal}"
            )));
        }
        let mut table = SplitTable { principal, overlap, by_length: Vec::new() };
        let max_length = 2 * longest + principal;
        let splits = table.enumerate(sizes, max_length + principal);
        table.by_length = (0..=max_length).map(|length| table.best(&splits, length)).collect();
        Ok(table)
    }

    /// Number of frames that a split covers if neighbours overlap in proportion to the smaller of them.
    fn duration(&self, split: &[usize]) -> f32 {
        let proportion = self.overlap as f32 / self.principal as f32;
        let total = split.iter().sum::<usize>() as f32;
        split.windows(2).fold(total, |sum, pair| sum - proportion * pair[0].min(pair[1]) as f32)
    }

    /// Lists all splits of up to two alternate sizes and any number of the principal one, in lexicographic order.
    fn enumerate(&self, sizes: &[usize], longest: usize) -> Vec<Vec<usize>> {
        let mut splits = Vec::new();
        for i in 0..sizes.len() {
            for j in 0..sizes.len() {
                let mut split: Vec<usize> = [i, j].iter().filter(|&&k| k > 0).map(|&k| sizes[k]).collect();
                while self.duration(&split) <= longest as f32 {
                    if !split.is_empty() {
                        splits.push(split.clone());
                    }
                    // Two different alternates alone keep their order, so that both orders are in the list.
                    split.push(self.principal);
                    split.sort_unstable();
                }
            }
        }
        splits.sort();
        splits.dedup();
        splits
    }

    fn best(&self, splits: &[Vec<usize>], length: usize) -> Vec<Vec<usize>> {
        let cost = |split: &Vec<usize>| {
            let (duration, length_f) = (self.duration(split), length as f32);
            match split.iter().max() {
                Some(&largest) if largest > length => None,
                // Frames that are left out are worse than frames that come twice.
                _ if duration > length_f => Some(duration - length_f),
                _ => Some(2.0 * (length_f - duration)),
            }
        };
        let best = splits.iter().filter_map(cost).fold(f32::INFINITY, f32::min);
        splits.iter().filter(|split| cost(split).is_some_and(|c| c < best + COST_MARGIN)).cloned().collect()
    }

    /// Returns the choices for an utterance, without the additional principal chunks, and the number of these.
    pub fn choices(&self, mut length: usize) -> (&[Vec<usize>], usize) {
        let tabulated = self.by_length.len() - 1;
        let step = self.principal - self.overlap;
        let repeats = length.saturating_sub(tabulated).div_ceil(step);
        length -= repeats * step;
        (&self.by_length[length], repeats)
    }

    pub fn principal(&self) -> usize {
        self.principal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_choose_splits() {
        let table = SplitTable::new(&[10, 6], 0).unwrap();
        assert_eq!(table.choices(5), (&[][..], 0), "too short");
        assert_eq!(table.choices(6).0, [vec![6]]);
        assert_eq!(table.choices(10).0, [vec![10]]);
        // 22 = 6+6+10; 20 frames (two left out) would cost 4, 26 (four twice) too.
        assert_eq!(table.choices(22).0, [vec![6, 6, 10]]);
        // Beyond 2·10+10 frames principal chunks are taken off: 53 = 23 + 3·10. 22 frames cost 2, 26 cost 3.
        assert_eq!(table.choices(53), (&[vec![6, 6, 10], vec![6, 10, 10]][..], 3));
    }

    #[test]
    fn a_pair_of_alternates_comes_in_both_orders() {
        let table = SplitTable::new(&[20, 7, 9], 0).unwrap();
        assert_eq!(table.choices(16).0, [vec![7, 9], vec![9, 7]]);
    }

    #[test]
    fn overlaps_shorten_splits() {
        let table = SplitTable::new(&[20], 5).unwrap();
        assert_eq!(table.choices(35).0, [vec![20, 20]]);
        assert!(SplitTable::new(&[20], 20).is_err());
    }
}
