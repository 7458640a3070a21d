//! Prefetching: products ask for the memory that they read next, so that they need not wait for it.

use crate::cpu::access::Rows;
use kaldi_simd::Simd;
use std::ops::Range;

/// Elements of a cache line.
const LINE: usize = 16;

/// The rows and columns of a matrix that are read soon.
pub(in crate::cpu) struct Prefetch<'a> {
    matrix: Rows<'a>,
    rows: Range<usize>,
    columns: Range<usize>,
    /// Number of prefetched elements of row `rows.start`, counted from `columns.start`. Earlier rows are done.
    done: usize,
}

impl<'a> Prefetch<'a> {
    /// Rows and columns beyond the matrix are left out.
    pub fn new(matrix: Rows<'a>, rows: Range<usize>, columns: Range<usize>) -> Prefetch<'a> {
        let rows = rows.start..rows.end.min(matrix.rows());
        let columns = columns.start..columns.end.min(matrix.cols());
        Prefetch { matrix, rows, columns, done: 0 }
    }

    /// Approximate number of cache lines.
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
