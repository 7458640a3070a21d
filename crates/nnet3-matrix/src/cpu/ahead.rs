//! Memory that is asked for some time before it is read, so that products need not wait for it.

use super::access::Rows;
use super::simd::Simd;
use std::ops::Range;

/// Elements of a cache line.
const LINE: usize = 16;

/// Some rows and columns of a matrix that is read soon.
pub(super) struct Ahead<'a> {
    matrix: Rows<'a>,
    rows: Range<usize>,
    columns: Range<usize>,
    /// Elements of each of `rows` that are under way, relative to `columns`; of those before `rows.start`, all.
    done: usize,
}

impl<'a> Ahead<'a> {
    /// Rows and columns beyond the matrix are left out.
    pub fn new(matrix: Rows<'a>, rows: Range<usize>, columns: Range<usize>) -> Ahead<'a> {
        let rows = rows.start..rows.end.min(matrix.rows());
        let columns = columns.start..columns.end.min(matrix.cols());
        Ahead { matrix, rows, columns, done: 0 }
    }

    /// How many cache lines these are, about.
    pub fn lines(&self) -> usize {
        self.rows.len() * self.columns.len().div_ceil(LINE)
    }

    /// Asks for the next `count` cache lines.
    #[inline(always)]
    pub fn fetch<S: Simd>(&mut self, count: usize) {
        for _ in 0..count {
            if self.rows.is_empty() || self.columns.is_empty() {
                return;
            }
            S::prefetch(&self.matrix.row(self.rows.start)[self.columns.start + self.done]);
            self.done += LINE;
            if self.done >= self.columns.len() {
                (self.rows.start, self.done) = (self.rows.start + 1, 0);
            }
        }
    }
}
