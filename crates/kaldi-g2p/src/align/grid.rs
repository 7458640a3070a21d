//! The ways to cut one pronunciation: paths through a grid of letters and phones.
//!
//! Cell (i, j) stands for i letters and j phones. Each cell has an edge for each shape of graphones, in the order of the shapes;
//! edges that lead outside, or that no whole path has, are [`NONE`].

use super::Pair;
use crate::error::Result;

/// Number of an edge that does not exist.
pub const NONE: u32 = u32::MAX;

/// Numbers of letters and phones of a graphone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Largest number of letters of a graphone.
    pub letters: usize,
    /// Largest number of phones of a graphone.
    pub phones: usize,
}

/// The edges of a pronunciation. There are no edges if it cannot be cut.
#[derive(Debug, Clone, Copy)]
pub struct Grid<'a> {
    /// Letters of the word.
    pub letters: usize,
    /// Phones of the pronunciation.
    pub phones: usize,
    /// Numbers of graphones: cell by cell, letters first, and shape by shape.
    pub edges: &'a [u32],
    /// Shapes without letters come first.
    pub shapes: &'a [Shape],
}

/// Cells that lie on a whole path.
#[derive(Debug, Default)]
pub struct Reach {
    from_start: Vec<bool>,
    to_end: Vec<bool>,
}

impl Reach {
    /// Finds the cells of whole paths. Returns true if there is such a path.
    pub fn find(&mut self, pair: &Pair, shapes: &[Shape]) -> bool {
        let (letters, width) = (pair.letters.len(), pair.phones.len() + 1);
        let cells = (letters + 1) * width;
        for cells_of in [&mut self.from_start, &mut self.to_end] {
            cells_of.clear();
            cells_of.resize(cells, false);
        }
        self.from_start[0] = true;
        self.to_end[cells - 1] = true;
        for cell in 0..cells {
            if self.from_start[cell] {
                targets(cell, letters, width, shapes).flatten().for_each(|to| self.from_start[to] = true);
            }
        }
        for cell in (0..cells).rev() {
            let leads = targets(cell, letters, width, shapes).flatten().any(|to| self.to_end[to]);
            self.to_end[cell] |= leads;
        }
        self.from_start[cells - 1]
    }

    /// Calls `edge` with letters and phones of each edge, and with `None` where there is none.
    ///
    /// # Errors
    /// `edge` does.
    pub fn for_each_edge<'p>(
        &self,
        pair: &'p Pair,
        shapes: &[Shape],
        mut edge: impl FnMut(Option<(&'p [u32], &'p [u32])>) -> Result<()>,
    ) -> Result<()> {
        let (letters, width) = (pair.letters.len(), pair.phones.len() + 1);
        for cell in 0..(letters + 1) * width {
            let (i, j) = (cell / width, cell % width);
            for (shape, to) in shapes.iter().zip(targets(cell, letters, width, shapes)) {
                let useful = to.filter(|&to| self.from_start[cell] && self.to_end[to]);
                edge(
                    useful.map(|_| (&pair.letters[i..i + shape.letters], &pair.phones[j..j + shape.phones])),
                )?;
            }
        }
        Ok(())
    }
}

/// The cell at the end of each shape's edge.
fn targets(
    cell: usize,
    letters: usize,
    width: usize,
    shapes: &[Shape],
) -> impl Iterator<Item = Option<usize>> + '_ {
    let (i, j) = (cell / width, cell % width);
    shapes.iter().map(move |shape| {
        let (i, j) = (i + shape.letters, j + shape.phones);
        (i <= letters && j < width).then_some(i * width + j)
    })
}

/// Memory for one grid after the other.
#[derive(Debug, Default)]
pub struct Workspace {
    forward: Vec<f64>,
    backward: Vec<f64>,
    /// Divisors of the rows, so that long words do not underflow.
    scales: Vec<f64>,
    /// The best edge into each cell: the cell before and the number.
    back: Vec<(u32, u32)>,
}

impl Workspace {
    /// Adds the expected numbers of graphones in this pronunciation to `counts`. Returns the logarithm of its probability, `None`
    /// if it cannot be cut.
    pub fn add_expectations(
        &mut self,
        grid: &Grid,
        probabilities: &[f64],
        counts: &mut [f64],
    ) -> Option<f64> {
        let (width, rows) = (grid.phones + 1, grid.letters + 1);
        let end = self.forward(grid, probabilities)?;
        self.backward.clear();
        self.backward.resize(rows * width, 0.0);
        self.backward[rows * width - 1] = 1.0;
        for row in (0..rows).rev() {
            for column in (0..width).rev() {
                let cell = row * width + column;
                let mut sum = self.backward[cell];
                for (shape, &number) in grid.shapes.iter().zip(grid.edges_of(cell)) {
                    if number == NONE {
                        continue;
                    }
                    let to = cell + shape.letters * width + shape.phones;
                    let mut share = probabilities[number as usize] * self.backward[to];
                    for scale in &self.scales[row + 1..row + 1 + shape.letters] {
                        share /= scale;
                    }
                    sum += share;
                    counts[number as usize] += self.forward[cell] * share / end;
                }
                self.backward[cell] = sum;
            }
        }
        Some(end.ln() + self.scales.iter().map(|scale| scale.ln()).sum::<f64>())
    }

    /// Computes scaled sums of all ways to each cell. Returns that of the last cell.
    fn forward(&mut self, grid: &Grid, probabilities: &[f64]) -> Option<f64> {
        if grid.edges.is_empty() {
            return None;
        }
        let (width, rows) = (grid.phones + 1, grid.letters + 1);
        let insertions = grid.shapes.iter().take_while(|shape| shape.letters == 0).count();
        let reach = grid.shapes.iter().map(|shape| shape.letters).max().unwrap_or(0);
        self.forward.clear();
        self.forward.resize(rows * width, 0.0);
        self.forward[0] = 1.0;
        self.scales.clear();
        for row in 0..rows {
            let first = row * width;
            for cell in first..first + width {
                let edges = grid.edges_of(cell);
                for (shape, &number) in grid.shapes.iter().zip(edges).take(insertions) {
                    if number != NONE {
                        self.forward[cell + shape.phones] +=
                            self.forward[cell] * probabilities[number as usize];
                    }
                }
            }
            let most = self.forward[first..first + width].iter().copied().fold(0.0, f64::max);
            let scale = if most > 0.0 { most } else { 1.0 };
            self.scales.push(scale);
            let last = (row + reach).min(rows);
            self.forward[first..last.max(row + 1) * width].iter_mut().for_each(|value| *value /= scale);
            for cell in first..first + width {
                let here = self.forward[cell];
                if here == 0.0 {
                    continue;
                }
                let edges = grid.edges_of(cell);
                for (shape, &number) in grid.shapes.iter().zip(edges).skip(insertions) {
                    if number != NONE {
                        let to = cell + shape.letters * width + shape.phones;
                        self.forward[to] += here * probabilities[number as usize];
                    }
                }
            }
        }
        self.forward.last().copied().filter(|&end| end > 0.0)
    }

    /// Returns the path with the least sum of costs, `None` if there is no path. Among equal ones the first shapes win.
    pub fn best_path(&mut self, grid: &Grid, costs: &[f64]) -> Option<Vec<u32>> {
        if grid.edges.is_empty() {
            return None;
        }
        let (width, rows) = (grid.phones + 1, grid.letters + 1);
        self.forward.clear();
        self.forward.resize(rows * width, f64::INFINITY);
        self.forward[0] = 0.0;
        self.back.clear();
        self.back.resize(rows * width, (NONE, NONE));
        for cell in 0..rows * width {
            let here = self.forward[cell];
            for (shape, &number) in grid.shapes.iter().zip(grid.edges_of(cell)) {
                if number == NONE {
                    continue;
                }
                let to = cell + shape.letters * width + shape.phones;
                let cost = here + costs[number as usize];
                if cost < self.forward[to] {
                    self.forward[to] = cost;
                    self.back[to] = (cell as u32, number);
                }
            }
        }
        let mut path = Vec::new();
        let mut cell = rows * width - 1;
        while cell != 0 {
            let (before, number) = self.back[cell];
            if number == NONE {
                return None;
            }
            path.push(number);
            cell = before as usize;
        }
        path.reverse();
        Some(path)
    }
}

impl Grid<'_> {
    fn edges_of(&self, cell: usize) -> &[u32] {
        &self.edges[cell * self.shapes.len()..(cell + 1) * self.shapes.len()]
    }
}
