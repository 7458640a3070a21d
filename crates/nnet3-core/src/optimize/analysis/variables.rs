//! Variables: the finest rectangles that the sub-matrices of a computation cut its matrices into.
//!
//! All row and column boundaries of a matrix's sub-matrices make a grid; each cell is a variable, numbered by matrix,
//! then row cell, then column cell. Every sub-matrix is exactly a block of cells.

use crate::computation::{Computation, MatrixId, SubmatrixId};
use std::ops::Range;

/// The cells of one sub-matrix: a block of its matrix's grid.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    first: u32,
    rows: u32,
    cols: u32,
    /// Columns of cells of the whole matrix.
    stride: u32,
}

#[derive(Clone, Debug, Default)]
struct Grid {
    first: u32,
    /// Boundaries, from 0 to the matrix's size.
    rows: Vec<u32>,
    cols: Vec<u32>,
}

/// The variables of a computation and how sub-matrices consist of them.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    grids: Vec<Grid>,
    blocks: Vec<Block>,
    /// The matrix of each variable.
    matrices: Vec<MatrixId>,
}

impl Variables {
    pub fn new(computation: &Computation) -> Variables {
        let mut grids: Vec<Grid> = computation
            .matrices
            .iter()
            .map(|m| Grid { first: 0, rows: vec![0, m.rows as u32], cols: vec![0, m.cols as u32] })
            .collect();
        for s in &computation.submatrices[1..] {
            let grid = &mut grids[s.matrix.index()];
            add_boundaries(&mut grid.rows, s.row_offset, s.rows);
            add_boundaries(&mut grid.cols, s.col_offset, s.cols);
        }
        let mut out = Variables::default();
        for (m, grid) in grids.iter_mut().enumerate() {
            for list in [&mut grid.rows, &mut grid.cols] {
                list.sort_unstable();
                list.dedup();
            }
            grid.first = out.matrices.len() as u32;
            let count = (grid.rows.len() - 1) * (grid.cols.len() - 1);
            out.matrices.extend(std::iter::repeat_n(MatrixId::from(m), count));
        }
        out.blocks.push(Block::default());
        for s in &computation.submatrices[1..] {
            let grid = &grids[s.matrix.index()];
            let rows = cells(&grid.rows, s.row_offset, s.rows);
            let cols = cells(&grid.cols, s.col_offset, s.cols);
            let stride = grid.cols.len() - 1;
            out.blocks.push(Block {
                first: grid.first + (rows.start * stride + cols.start) as u32,
                rows: rows.len() as u32,
                cols: cols.len() as u32,
                stride: stride as u32,
            });
        }
        out.grids = grids;
        out
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

    /// All variables of a matrix.
    pub fn of_matrix(&self, m: MatrixId) -> Range<usize> {
        let grid = &self.grids[m.index()];
        let first = grid.first as usize;
        first..first + (grid.rows.len() - 1) * (grid.cols.len() - 1)
    }

    pub fn matrix(&self, variable: usize) -> MatrixId {
        self.matrices[variable]
    }

    /// Rows and columns of its matrix that a variable covers.
    pub fn area(&self, variable: usize) -> (Range<usize>, Range<usize>) {
        let grid = &self.grids[self.matrices[variable].index()];
        let cell = variable - grid.first as usize;
        let (r, c) = (cell / (grid.cols.len() - 1), cell % (grid.cols.len() - 1));
        let range = |list: &[u32], i: usize| list[i] as usize..list[i + 1] as usize;
        (range(&grid.rows, r), range(&grid.cols, c))
    }

    /// `m1`, or `m1(r0:r1,c0:c1)` with `:` for a dimension that is not divided.
    pub fn describe(&self, variable: usize) -> String {
        let matrix = self.matrices[variable];
        let grid = &self.grids[matrix.index()];
        let (rows, cols) = self.area(variable);
        let text = |range: Range<usize>, list: &[u32]| match list.len() {
            2 => ":".to_string(),
            _ => format!("{}:{}", range.start, range.end - 1),
        };
        match (text(rows, &grid.rows).as_str(), text(cols, &grid.cols).as_str()) {
            (":", ":") => format!("m{matrix}"),
            (r, c) => format!("m{matrix}({r},{c})"),
        }
    }
}

fn add_boundaries(list: &mut Vec<u32>, offset: usize, size: usize) {
    for boundary in [offset as u32, (offset + size) as u32] {
        // Sub-matrices of one matrix often repeat their columns, or follow each other.
        if !list[list.len().saturating_sub(4)..].contains(&boundary) {
            list.push(boundary);
        }
    }
}

fn cells(boundaries: &[u32], offset: usize, size: usize) -> Range<usize> {
    let position = |value: usize| boundaries.partition_point(|&b| (b as usize) < value);
    position(offset)..position(offset + size)
}

#[cfg(test)]
mod tests {
    use super::*;

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
