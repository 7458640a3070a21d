//! Parameters of a mixture in the order in which vector registers read them.
//!
//! Rows whose sums have the order [`Order::OfFour`](crate::products::Order::OfFour) are in panels. A panel has eight
//! Gaussians side by side, element after element: each element of a frame is multiplied with eight parameters at once,
//! and no sum goes across a register. The last panel may have four. At most three rows come after the panels.

use kaldi_io::DenseMatrix;

use crate::products::{LANES, Lanes};

/// A matrix with a row for each Gaussian of a mixture and a column for each dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    rows: usize,
    dim: usize,
    /// The columns of the first panel, then of the next. Zeros are in the place of absent Gaussians.
    columns: Vec<Lanes>,
    /// The rows after the panels.
    rest: Vec<f32>,
}

/// The number of rows in panels.
pub(crate) fn in_panels(rows: usize) -> usize {
    rows / 4 * 4
}

impl From<&DenseMatrix<f32>> for Parameters {
    fn from(matrix: &DenseMatrix<f32>) -> Parameters {
        let (rows, dim, last) = (matrix.rows, matrix.cols, in_panels(matrix.rows));
        let mut columns = Vec::with_capacity(last.div_ceil(LANES) * dim);
        for first in (0..last).step_by(LANES) {
            let count = LANES.min(last - first);
            columns.extend((0..dim).map(|d| {
                let mut column = Lanes::default();
                let lanes = column.0.iter_mut().take(count).enumerate();
                lanes.for_each(|(lane, value)| *value = matrix.row(first + lane)[d]);
                column
            }));
        }
        Parameters { rows, dim, columns, rest: matrix.data[last * dim..].to_vec() }
    }
}

impl Parameters {
    /// The elements of a Gaussian.
    ///
    /// # Panics
    /// If there is no such Gaussian.
    pub fn row(&self, g: usize) -> impl ExactSizeIterator<Item = f32> + Clone + '_ {
        assert!(g < self.rows, "row {g} of {}", self.rows);
        let last = in_panels(self.rows);
        let (columns, lane, rest) = match g < last {
            true => (self.panel(g / LANES), g % LANES, &[][..]),
            false => (&[][..], 0, self.rest_row(g - last)),
        };
        (0..self.dim).map(move |d| rest.get(d).copied().unwrap_or_else(|| columns[d].0[lane]))
    }

    /// An element of a Gaussian.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn get(&self, g: usize, d: usize) -> f32 {
        assert!(g < self.rows && d < self.dim, "element {g}, {d} of {} × {}", self.rows, self.dim);
        match g.checked_sub(in_panels(self.rows)) {
            Some(row) => self.rest_row(row)[d],
            None => self.panel(g / LANES)[d].0[g % LANES],
        }
    }

    /// Changes an element of a Gaussian.
    ///
    /// # Panics
    /// If there is no such element.
    pub(crate) fn get_mut(&mut self, g: usize, d: usize) -> &mut f32 {
        assert!(g < self.rows && d < self.dim, "element {g}, {d} of {} × {}", self.rows, self.dim);
        match g.checked_sub(in_panels(self.rows)) {
            Some(row) => &mut self.rest[row * self.dim + d],
            None => &mut self.columns[g / LANES * self.dim + d].0[g % LANES],
        }
    }

    /// The columns of a panel.
    pub(crate) fn panel(&self, panel: usize) -> &[Lanes] {
        &self.columns[panel * self.dim..][..self.dim]
    }

    /// A row after the panels.
    pub(crate) fn rest_row(&self, row: usize) -> &[f32] {
        &self.rest[row * self.dim..][..self.dim]
    }

    /// Copies the elements into a matrix of Gaussians × dimensions.
    pub fn to_matrix(&self) -> DenseMatrix<f32> {
        let data = (0..self.rows).flat_map(|g| self.row(g)).collect();
        DenseMatrix { rows: self.rows, cols: self.dim, data }
    }

    pub fn dim(&self) -> usize {
        self.dim
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing_models::features;

    #[test]
    fn panels_and_rows() {
        for (count, panels) in [(1, 0), (3, 0), (4, 1), (11, 1), (12, 2), (17, 2)] {
            let matrix = features(count, 5, 3);
            let mut found = Parameters::from(&matrix);
            assert_eq!((found.columns.len(), found.rest.len()), (5 * panels, 5 * (count % 4)));
            assert_eq!(found.to_matrix(), matrix);
            for g in 0..count {
                assert!(found.row(g).eq(matrix.row(g).iter().copied()));
                *found.get_mut(g, 2) += 1.0;
                assert_eq!(found.row(g).nth(2), Some(matrix.row(g)[2] + 1.0));
                *found.get_mut(g, 2) = matrix.row(g)[2];
            }
            assert_eq!(found, Parameters::from(&matrix));
            for g in 0..in_panels(count) {
                assert_eq!(found.panel(g / LANES)[4].0[g % LANES], matrix.row(g)[4]);
            }
            for g in in_panels(count)..count {
                assert_eq!(found.rest_row(g - in_panels(count)), matrix.row(g));
            }
        }
    }
}
