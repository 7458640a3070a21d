//! Parameters of a mixture in the order in which vector registers read them.
//!
//! Rows whose sums have the order [`Order::OfFour`](crate::products::Order::OfFour) are in panels. A panel has eight
//! Gaussians side by side, element after element: each element of a frame is multiplied with eight parameters at once,
//! and no sum goes across a register. Four rows that are left make a panel of four. At most three rows come after the
//! panels.

use kaldi_io::DenseMatrix;

use crate::products::{GROUP, LANES};

/// A matrix with a row for each Gaussian of a mixture and a column for each dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    rows: usize,
    dim: usize,
    /// The panels of eight rows, the panel of four, the other rows.
    values: Vec<f32>,
}

impl From<&DenseMatrix<f32>> for Parameters {
    fn from(matrix: &DenseMatrix<f32>) -> Parameters {
        let mut out =
            Parameters { rows: matrix.rows, dim: matrix.cols, values: vec![0.0; matrix.data.len()] };
        for g in 0..matrix.rows {
            for (d, &value) in matrix.row(g).iter().enumerate() {
                *out.get_mut(g, d) = value;
            }
        }
        out
    }
}

impl Parameters {
    /// The number of rows in panels of eight.
    fn in_eights(&self) -> usize {
        self.rows / LANES * LANES
    }

    /// The number of rows in panels.
    fn in_panels(&self) -> usize {
        self.rows / GROUP * GROUP
    }

    /// The place of a row's first element, and the distance between its elements.
    fn place(&self, g: usize) -> (usize, usize) {
        let of_panel = |width: usize| (g / width * width * self.dim + g % width, width);
        match g {
            _ if g < self.in_eights() => of_panel(LANES),
            _ if g < self.in_panels() => of_panel(GROUP),
            _ => (g * self.dim, 1),
        }
    }

    /// The elements of a Gaussian.
    ///
    /// # Panics
    /// If there is no such Gaussian.
    pub fn row(&self, g: usize) -> impl ExactSizeIterator<Item = f32> + Clone + '_ {
        assert!(g < self.rows, "row {g} of {}", self.rows);
        let (first, step) = self.place(g);
        self.values.get(first..).unwrap_or_default().iter().step_by(step).take(self.dim).copied()
    }

    /// An element of a Gaussian.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn get(&self, g: usize, d: usize) -> f32 {
        assert!(g < self.rows && d < self.dim, "element {g}, {d} of {} × {}", self.rows, self.dim);
        let (first, step) = self.place(g);
        self.values[first + d * step]
    }

    /// Changes an element of a Gaussian.
    ///
    /// # Panics
    /// If there is no such element.
    pub(crate) fn get_mut(&mut self, g: usize, d: usize) -> &mut f32 {
        assert!(g < self.rows && d < self.dim, "element {g}, {d} of {} × {}", self.rows, self.dim);
        let (first, step) = self.place(g);
        &mut self.values[first + d * step]
    }

    /// The panels of eight rows: the columns of each.
    pub(crate) fn eights(&self) -> impl Iterator<Item = &[[f32; LANES]]> {
        let (columns, _) = self.values[..self.in_eights() * self.dim].as_chunks();
        columns.chunks_exact(self.dim.max(1))
    }

    /// The columns of the panel of four rows, and the first of its rows. `None` if there is none.
    pub(crate) fn four(&self) -> Option<(usize, &[[f32; GROUP]])> {
        let (first, last) = (self.in_eights(), self.in_panels());
        let (columns, _) = self.values[first * self.dim..last * self.dim].as_chunks();
        (first < last).then_some((first, columns))
    }

    /// The rows after the panels, with their numbers.
    pub(crate) fn rest(&self) -> impl Iterator<Item = (usize, &[f32])> {
        (self.in_panels()..self.rows).map(|g| (g, &self.values[g * self.dim..][..self.dim]))
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
        for (count, eights, four, rest) in [
            (1, 0, false, 1),
            (3, 0, false, 3),
            (4, 0, true, 0),
            (8, 1, false, 0),
            (11, 1, false, 3),
            (22, 2, true, 2),
        ] {
            let matrix = features(count, 5, 3);
            let mut found = Parameters::from(&matrix);
            assert_eq!(found.eights().count(), eights);
            assert_eq!(
                found.four().map(|(first, columns)| (first, columns.len())),
                four.then_some((8 * eights, 5))
            );
            assert_eq!(found.rest().count(), rest);
            assert_eq!(found.to_matrix(), matrix);
            for g in 0..count {
                assert!(found.row(g).eq(matrix.row(g).iter().copied()));
                *found.get_mut(g, 2) += 1.0;
                assert_eq!(found.row(g).nth(2), Some(matrix.row(g)[2] + 1.0));
                *found.get_mut(g, 2) = matrix.row(g)[2];
            }
            assert_eq!(found, Parameters::from(&matrix));
            for (panel, columns) in found.eights().enumerate() {
                for (lane, value) in columns[4].iter().enumerate() {
                    assert_eq!(*value, matrix.row(LANES * panel + lane)[4]);
                }
            }
            if let Some((first, columns)) = found.four() {
                for (lane, value) in columns[4].iter().enumerate() {
                    assert_eq!(*value, matrix.row(first + lane)[4]);
                }
            }
            for (g, row) in found.rest() {
                assert_eq!(row, matrix.row(g));
            }
        }
    }
}
