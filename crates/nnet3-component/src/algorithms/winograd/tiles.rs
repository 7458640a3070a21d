//! Tiles over time: the outputs, some rows apart, that a filter computes together.

use nnet3_matrix::{View, ViewMut};
use std::ops::Range;

/// Cuts rows into tiles of `outputs` rows, `step` apart. A tile may begin at any row, so that `outputs` times `step` rows
/// are `step` tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tiles {
    pub outputs: usize,
    /// Rows from an output of a tile to the next.
    pub step: usize,
    /// Outputs of all tiles and of the rest.
    pub rows: usize,
}

impl Tiles {
    /// Number of rows that `step` tiles fill without gaps.
    fn block(&self) -> usize {
        self.outputs * self.step
    }

    /// Tiles after the last whole block.
    fn late(&self) -> usize {
        (self.rows % self.block()).saturating_sub(self.block() - self.step)
    }

    pub fn count(&self) -> usize {
        self.rows / self.block() * self.step + self.late()
    }

    /// Portions of at most `most` tiles: their number, and their runs.
    pub fn portions(&self, most: usize) -> impl Iterator<Item = (usize, Runs)> + use<> {
        let (step, block, tiles) = (self.step, self.block(), self.count());
        (0..tiles).step_by(most).map(move |start| {
            let end = tiles.min(start + most);
            (end - start, Runs { step, block, start, next: start, end })
        })
    }

    /// Rows that are in no tile.
    pub fn rest(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (rows, step, late) = (self.rows, self.step, self.late());
        let first = rows - rows % self.block();
        let (parts, width) = if late == 0 { (1, self.block()) } else { (self.outputs, step) };
        let part = move |k| first + k * width + late..rows.min(first + (k + 1) * width);
        (0..parts).map(part).filter(|rows| !rows.is_empty())
    }
}

/// The runs of a portion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runs {
    step: usize,
    block: usize,
    /// Tiles of the portion.
    start: usize,
    end: usize,
    next: usize,
}

impl Iterator for Runs {
    type Item = TileRow;

    fn next(&mut self) -> Option<TileRow> {
        let (tile, left) = (self.next, self.end - self.next);
        let row = tile / self.step * self.block + tile % self.step;
        let (stride, tiles) = match self.step {
            1 => (self.block, left),
            step => (1, left.min(step - tile % step)),
        };
        self.next += tiles;
        (tiles > 0).then_some(TileRow { row, stride, tiles, first: tile - self.start })
    }
}

/// Tiles whose first outputs are rows `row`, `row + stride`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TileRow {
    row: usize,
    stride: usize,
    tiles: usize,
    /// Number of the first one in its portion.
    first: usize,
}

impl TileRow {
    /// The rows that lie `later` rows behind those of the tiles' first outputs.
    pub fn after<'v>(&self, view: View<'v>, later: usize) -> View<'v> {
        view.every(self.row + later, self.stride, self.tiles)
    }

    pub fn after_mut<'v>(&self, view: ViewMut<'v>, later: usize) -> ViewMut<'v> {
        view.every(self.row + later, self.stride, self.tiles)
    }

    /// The numbers of its tiles in the portion.
    pub fn numbers(&self) -> Range<usize> {
        self.first..self.first + self.tiles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows that every row is in one tile, or in the rest.
    #[test]
    fn tiles_and_rest_are_all_rows() {
        for outputs in 2..=4 {
            for step in 1..=7 {
                for rows in 0..=60 {
                    let tiles = Tiles { outputs, step, rows };
                    let mut seen = vec![0; rows];
                    let mut found = 0;
                    for (count, runs) in tiles.portions(5) {
                        found += count;
                        for run in runs {
                            let first = (0..run.tiles).map(|tile| run.row + tile * run.stride);
                            let all = first.flat_map(|row| (0..outputs).map(move |k| row + k * step));
                            all.for_each(|row| seen[row] += 1);
                        }
                    }
                    tiles.rest().flatten().for_each(|row| seen[row] += 1);
                    assert_eq!(seen, vec![1; rows], "{tiles:?}");
                    assert_eq!(found, tiles.count());
                }
            }
        }
    }
}
