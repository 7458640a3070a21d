//! Variables: the finest rectangles that the sub-matrices of a computation cut its matrices into.
//!
//! All row and column boundaries of a matrix's sub-matrices make a grid; each cell is a variable, numbered by matrix,
//! then row cell, then column cell. Every sub-matrix is exactly a block of cells.

use super::SubmatricesByMatrix;
use crate::computation::{Computation, MatrixId, SubmatrixId};
use std::ops::Range;

/// The cells of one sub-matrix: `rows` runs of `cols` cells each, `stride` apart.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    first: u32,
    rows: u32,
    cols: u32,
    stride: u32,
}

/// The first cell of a matrix, and its boundaries as ranges of [`Variables::boundaries`].
#[derive(Clone, Debug, Default)]
struct Grid {
    first: u32,
    rows: Range<u32>,
    cols: Range<u32>,
}

impl Grid {
    fn num_rows(&self) -> usize {
        self.rows.len() - 1
    }
    fn num_cols(&self) -> usize {
        self.cols.len() - 1
    }

    /// The cells in these rows and columns of cells.
    fn block(&self, rows: Range<usize>, cols: Range<usize>) -> Block {
        let stride = self.num_cols();
        let first = self.first + (rows.start * stride + cols.start) as u32;
        let (rows, cols, stride) = (rows.len() as u32, cols.len() as u32, stride as u32);
        match cols == stride {
            // Whole rows are one run.
            true => Block { first, rows: 1, cols: rows * cols, stride },
            false => Block { first, rows, cols, stride },
        }
    }
}

/// Finds positions among the boundaries of a dimension.
struct Finder<'a> {
    boundaries: &'a [u32],
    /// The range that was found last: often the next part is the same, or follows it and is as long.
    last: Range<usize>,
}

impl Finder<'_> {
    fn new(boundaries: &[u32]) -> Finder<'_> {
        Finder { boundaries, last: 0..0 }
    }

    /// The cells from `offset` to `offset` + `size`, which are boundaries.
    fn cells(&mut self, offset: usize, size: usize) -> Range<usize> {
        let (offset, end) = (offset as u32, (offset + size) as u32);
        let Finder { boundaries: all, last } = self;
        let first = match () {
            _ if all[last.start] == offset => last.start,
            _ if all[last.end] == offset => last.end,
            _ => all.partition_point(|&b| b < offset),
        };
        let as_long = first + last.len();
        let end = match all.get(as_long) {
            Some(&b) if b == end => as_long,
            _ if all[all.len() - 1] == end => all.len() - 1,
            _ => first + all[first..].partition_point(|&b| b < end),
        };
        self.last = first..end;
        first..end
    }
}

/// The variables of a computation and how sub-matrices consist of them.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    grids: Vec<Grid>,
    blocks: Vec<Block>,
    /// The matrix of each variable.
    matrices: Vec<MatrixId>,
    /// Ascending in each range of a grid, from 0 to the matrix's size.
    boundaries: Vec<u32>,
}

impl Variables {
    pub fn new(computation: &Computation) -> Variables {
        Variables::build(computation, None)
    }

    /// Finds the variables of the marked matrices only.
    pub(crate) fn of_matrices(computation: &Computation, marked: &[bool]) -> Variables {
        Variables::build(computation, Some(marked))
    }

    fn build(computation: &Computation, marked: Option<&[bool]>) -> Variables {
        let wanted = |m: MatrixId| marked.is_none_or(|marked| marked[m.index()]);
        let mut out = Variables {
            grids: Vec::with_capacity(computation.matrices.len()),
            blocks: Vec::with_capacity(computation.submatrices.len()),
            matrices: Vec::with_capacity(2 * computation.matrices.len()),
            boundaries: Vec::with_capacity(5 * computation.matrices.len()),
        };
        let is_part = |s| wanted(computation.matrix_of(s)) && !computation.is_whole(s);
        let parts = SubmatricesByMatrix::new(computation, is_part);
        out.blocks.resize(computation.submatrices.len(), Block::default());
        for (m, matrix) in computation.matrices.iter().enumerate() {
            let id = MatrixId::from(m);
            let first = out.matrices.len() as u32;
            if m == 0 || !wanted(id) {
                out.grids.push(Grid { first, rows: 0..1, cols: 0..1 });
                continue;
            }
            if parts.of(id).next().is_none() {
                let start = out.boundaries.len() as u32;
                out.boundaries.extend_from_slice(&[0, matrix.rows as u32, 0, matrix.cols as u32]);
                out.grids.push(Grid { first, rows: start..start + 2, cols: start + 2..start + 4 });
                out.matrices.push(id);
                continue;
            }
            let of_matrix = || parts.of(id).map(|s| computation.submatrix(s));
            let rows = out.add_boundaries(matrix.rows, of_matrix().map(|s| (s.row_offset, s.rows)));
            let cols = out.add_boundaries(matrix.cols, of_matrix().map(|s| (s.col_offset, s.cols)));
            let grid = Grid { first, rows, cols };
            let cells = grid.num_rows() * grid.num_cols();
            out.matrices.resize(out.matrices.len() + cells, id);
            let list = |range: &Range<u32>| &out.boundaries[range.start as usize..range.end as usize];
            let (mut rows, mut cols) = (Finder::new(list(&grid.rows)), Finder::new(list(&grid.cols)));
            for s in parts.of(id) {
                let part = computation.submatrix(s);
                let rows = rows.cells(part.row_offset, part.rows);
                let cols = cols.cells(part.col_offset, part.cols);
                out.blocks[s.index()] = grid.block(rows, cols);
            }
            out.grids.push(grid);
        }
        for (block, s) in out.blocks.iter_mut().zip(&computation.submatrices).skip(1) {
            // Those that are not parts are whole, or not wanted.
            if block.rows == 0 {
                let grid = &out.grids[s.matrix.index()];
                let (rows, cols) = (grid.num_rows() as u32, grid.num_cols() as u32);
                if rows > 0 {
                    *block = Block { first: grid.first, rows: 1, cols: rows * cols, stride: cols };
                }
            }
        }
        out
    }

    /// Appends the boundaries of 0 .. `size` and these offsets and sizes.
    fn add_boundaries(&mut self, size: usize, parts: impl Iterator<Item = (usize, usize)>) -> Range<u32> {
        let start = self.boundaries.len();
        self.boundaries.push(0);
        // Usually parts come in order, and often consecutive parts are equal.
        let mut before = (0, size);
        for part in parts {
            if std::mem::replace(&mut before, part) != part {
                self.add_boundary(part.0);
                self.add_boundary(part.0 + part.1);
            }
        }
        self.add_boundary(size);
        let list = &mut self.boundaries[start..];
        if !list.is_sorted_by(|a, b| a < b) {
            list.sort_unstable();
            let mut count = 1;
            for i in 1..list.len() {
                if list[i] != list[count - 1] {
                    list[count] = list[i];
                    count += 1;
                }
            }
            self.boundaries.truncate(start + count);
        }
        start as u32..self.boundaries.len() as u32
    }

    fn add_boundary(&mut self, boundary: usize) {
        if self.boundaries.last() != Some(&(boundary as u32)) {
            self.boundaries.push(boundary as u32);
        }
    }

    pub fn count(&self) -> usize {
        self.matrices.len()
    }

    /// The variables that a sub-matrix consists of, ascending.
    pub fn of(&self, s: SubmatrixId) -> impl Iterator<Item = usize> + use<> {
        let Block { first, rows, cols, stride } = self.blocks[s.index()];
        (0..rows).flat_map(move |r| {
            let start = (first + r * stride) as usize;
            start..start + cols as usize
        })
    }

    /// Calls `f` for each of the variables that [`Variables::of`] returns.
    pub fn for_each(&self, s: SubmatrixId, mut f: impl FnMut(usize)) {
        let Block { first, rows, cols, stride } = self.blocks[s.index()];
        if (rows, cols) == (1, 1) {
            return f(first as usize);
        }
        for r in 0..rows {
            let start = (first + r * stride) as usize;
            (start..start + cols as usize).for_each(&mut f);
        }
    }

    /// Returns all variables of a matrix.
    pub(crate) fn of_matrix(&self, m: MatrixId) -> Range<usize> {
        let grid = &self.grids[m.index()];
        let first = grid.first as usize;
        first..first + grid.num_rows() * grid.num_cols()
    }

    pub fn matrix(&self, variable: usize) -> MatrixId {
        self.matrices[variable]
    }

    /// Rows and columns of its matrix that a variable covers.
    pub(crate) fn area(&self, variable: usize) -> (Range<usize>, Range<usize>) {
        let grid = &self.grids[self.matrices[variable].index()];
        let cell = variable - grid.first as usize;
        let range = |list: &Range<u32>, i: usize| {
            let first = list.start as usize + i;
            self.boundaries[first] as usize..self.boundaries[first + 1] as usize
        };
        (range(&grid.rows, cell / grid.num_cols()), range(&grid.cols, cell % grid.num_cols()))
    }

    /// `m1`, or `m1(r0:r1,c0:c1)` with `:` for a dimension that is not divided.
    pub fn describe(&self, variable: usize) -> String {
        let matrix = self.matrices[variable];
        let grid = &self.grids[matrix.index()];
        let (rows, cols) = self.area(variable);
        let text = |range: Range<usize>, parts: usize| match parts {
            1 => ":".to_string(),
            _ => format!("{}:{}", range.start, range.end - 1),
        };
        match (text(rows, grid.num_rows()).as_str(), text(cols, grid.num_cols()).as_str()) {
            (":", ":") => format!("m{matrix}"),
            (r, c) => format!("m{matrix}({r},{c})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_that_are_not_marked_have_no_variables() {
        let mut computation = Computation::new();
        let first = computation.new_matrix(10, 6, false);
        let part = computation.new_submatrix(first, 0..4, 0..6);
        let second = computation.new_matrix(2, 2, false);
        let variables = Variables::of_matrices(&computation, &[false, false, true]);
        assert_eq!(variables.count(), 1);
        assert!(variables.of(first).chain(variables.of(part)).next().is_none());
        assert_eq!(variables.of(second).collect::<Vec<_>>(), [0]);
        assert!(variables.of_matrix(MatrixId(1)).is_empty());
        let variables = Variables::of_matrices(&computation, &[false, true, false]);
        assert_eq!(variables.of(first).collect::<Vec<_>>(), [0, 1]);
        assert!(variables.of(second).next().is_none());
    }

    #[test]
    fn sub_matrices_are_blocks_of_cells() {
        let mut computation = Computation::new();
        let whole = computation.new_matrix(10, 6, false);
        let top = computation.new_submatrix(whole, 0..4, 0..6);
        let middle = computation.new_submatrix(whole, 3..8, 2..4);
        let plain = computation.new_matrix(2, 2, false);
        let variables = Variables::new(&computation);
        // Rows 0 3 4 8 10, columns 0 2 4 6, and one cell for the second matrix; none for the empty one.
        assert_eq!(variables.count(), 12 + 1);
        let list = |s| variables.of(s).collect::<Vec<_>>();
        assert_eq!(list(whole), (0..12).collect::<Vec<_>>());
        assert_eq!(list(top), (0..6).collect::<Vec<_>>());
        assert_eq!(list(middle), [4, 7]);
        assert_eq!(list(plain), [12]);
        assert_eq!(variables.area(7), (4..8, 2..4));
        assert_eq!(variables.describe(7), "m1(4:7,2:3)");
        assert_eq!(variables.describe(12), "m2");
    }
}
