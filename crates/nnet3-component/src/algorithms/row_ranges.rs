//! Index lists of components that sum over consecutive rows.

use crate::{Available, fields};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;
use nnet3_base::fast_hash::FastMap;
use nnet3_base::index::Index;
use nnet3_matrix::IndexTable;
use std::ops::Range;

/// A sum has at most this many rows; more, for instance in a damaged file, would only exhaust memory.
pub(crate) const MOST_ROWS: i64 = 1 << 22;

/// Sorts by n, then x, then t: the rows of a sequence follow each other.
pub(crate) fn sort_by_sequence(indexes: &mut [Index]) {
    indexes.sort_by_key(|index| (index.n, index.x, index.t));
}

/// The row of each index.
pub fn positions(indexes: &[Index]) -> FastMap<Index, usize> {
    indexes.iter().enumerate().map(|(row, &index)| (index, row)).collect()
}

/// True if one or more of `inputs` are available; appends the available ones to `used`.
pub(crate) fn any_available(
    mut inputs: impl Iterator<Item = Index>,
    available: Available<'_>,
    used: Option<&mut Vec<Index>>,
) -> bool {
    match used {
        None => inputs.any(available),
        Some(used) => {
            let before = used.len();
            used.extend(inputs.filter(|&input| available(input)));
            used.len() > before
        }
    }
}

/// Ranges of rows that grow row by row.
pub(crate) struct RangesBuilder(Vec<(i32, i32)>);

impl RangesBuilder {
    /// `count` empty ranges.
    pub fn new(count: usize) -> RangesBuilder {
        RangesBuilder(vec![(-1, -1); count])
    }

    /// Appends `row` to range `i`. Returns false if it does not follow on the range.
    pub fn extend(&mut self, i: usize, row: usize) -> bool {
        let (row, (begin, end)) = (row as i32, &mut self.0[i]);
        if *begin == -1 {
            *begin = row;
        } else if *end != row {
            return false;
        }
        *end = row + 1;
        true
    }

    /// `None` if a range is still empty.
    pub fn finish(self) -> Option<Ranges> {
        (!self.0.contains(&(-1, -1))).then(|| Ranges::new(&self.0))
    }
}

/// A range of rows of another matrix for each row of one matrix, or none, written (-1, -1).
#[derive(Clone, Debug)]
pub struct Ranges {
    /// Begin and end of each.
    table: IndexTable,
}

impl Ranges {
    pub fn new(pairs: &[(i32, i32)]) -> Ranges {
        Ranges { table: IndexTable::new(pairs.iter().flat_map(|&(begin, end)| [begin, end]).collect()) }
    }

    pub fn table(&self) -> &IndexTable {
        &self.table
    }
    pub fn count(&self) -> usize {
        self.table.len() / 2
    }
    /// True if no range goes beyond row `rows`.
    pub(crate) fn are_within(&self, rows: usize) -> bool {
        self.table.values().iter().all(|&row| row <= rows as i32)
    }
    /// Each row's range; empty if it has none.
    pub fn iter(&self) -> impl Iterator<Item = Range<usize>> {
        self.table.values().chunks_exact(2).map(|range| range[0].max(0) as usize..range[1].max(0) as usize)
    }
    pub fn lengths(&self) -> impl Iterator<Item = i32> {
        self.table.values().chunks_exact(2).map(|range| range[1] - range[0])
    }

    /// The row of each range, -1 for an empty one; `None` if some range has several rows.
    pub(crate) fn singles(&self) -> Option<Vec<i32>> {
        let ranges = self.table.values().chunks_exact(2);
        ranges
            .map(|range| match range[1] - range[0] {
                0 => Some(-1),
                1 => Some(range[0]),
                _ => None,
            })
            .collect()
    }

    /// Reads `token` and pairs.
    pub fn read(r: &mut KaldiReader, token: &str) -> Result<Ranges> {
        r.expect_token(token)?;
        let pairs = r.read_i32_pairs()?;
        let valid = |&(begin, end): &(i32, i32)| (begin, end) == (-1, -1) || (0 <= begin && begin <= end);
        fields::check(r, pairs.iter().all(valid), || format!("{token}: expected begins and ends of rows"))?;
        Ok(Ranges::new(&pairs))
    }

    pub fn write(&self, w: &mut KaldiWriter, token: &str) -> Result<()> {
        w.write_token(token)?;
        let pairs: Vec<(i32, i32)> =
            self.table.values().chunks_exact(2).map(|range| (range[0], range[1])).collect();
        Ok(w.write_i32_pairs(&pairs)?)
    }
}
