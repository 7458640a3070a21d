//! Maximum-likelihood linear transforms, also called semi-tied covariances (`transform/mllt.cc`).

use kaldi_numerics::determinant::log_abs_determinant;
use kaldi_numerics::inverse::finite_inverse;
use nalgebra::{DMatrix, RowDVector};

use crate::error::{Error, Result};
use crate::gmm::DiagGmm;
use crate::outer::OuterSums;
use crate::random::{Rand, prune};
use kaldi_io::{DenseMatrix, KaldiObject, KaldiReader, KaldiWriter, PackedMatrix};

/// Updates of all rows.
const ITERATIONS: usize = 200;
/// All iterations up to this number are reported, and then each multiple of it.
const REPORTED: usize = 10;

/// Statistics: for each dimension d, G_d = Σ γ / var_d · (μ − x)(μ − x)ᵀ over frames and Gaussians with posterior γ.
#[derive(Debug, Clone, PartialEq)]
pub struct MlltStats {
    dim: usize,
    count: f64,
    sums: OuterSums,
}

impl MlltStats {
    pub fn new(dim: usize) -> MlltStats {
        MlltStats { dim, count: 0.0, sums: OuterSums::new(dim, dim) }
    }

    pub fn dim(&self) -> usize {
        self.dim
    }
    /// The sum of all posteriors.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// Adds a frame with the posteriors of a mixture's Gaussians. Posteriors below `rand_prune` are pruned at random.
    pub fn add(&mut self, gmm: &DiagGmm, frame: &[f32], posteriors: &[f32], rand_prune: f32, rand: Rand<'_>) {
        let mut offset = vec![0.0; self.dim];
        for (g, &posterior) in posteriors.iter().enumerate() {
            let posterior = prune(posterior, rand_prune, rand);
            if posterior == 0.0 {
                continue;
            }
            let inv_vars = gmm.inv_vars().row(g);
            let means =
                gmm.means_invvars().row(g).zip(inv_vars.clone()).map(|(mean, inv_var)| mean / inv_var);
            for ((offset, mean), x) in offset.iter_mut().zip(means).zip(frame) {
                *offset = f64::from(mean - x);
            }
            self.sums.add(inv_vars.map(|inv_var| f64::from(inv_var) * f64::from(posterior)), &offset);
            self.count += f64::from(posterior);
        }
    }

    /// Adds other statistics; an error if their dimension is another one.
    pub fn merge(&mut self, other: &MlltStats) -> Result<()> {
        if other.dim != self.dim {
            return Err(Error::data(format!(
                "MLLT statistics of dimension {} cannot be added to MLLT statistics of dimension {}",
                other.dim, self.dim
            )));
        }
        self.count += other.count;
        self.sums.flush();
        let mut other = other.sums.clone();
        other.flush();
        for d in 0..self.dim {
            self.sums.packed_mut(d).iter_mut().zip(other.packed(d)).for_each(|(sum, value)| *sum += value);
        }
        Ok(())
    }

    /// Estimates the transform. `report` gets the number of an iteration and the growth of the objective function per
    /// frame since the start. It is called after the first ten iterations and then every tenth. It is an error if a
    /// G_d is singular.
    pub fn estimate(&self, report: &mut dyn FnMut(usize, f64)) -> Result<MlltEstimate> {
        let dim = self.dim;
        let mut sums = self.sums.clone();
        sums.flush();
        let mut inverses = Vec::new();
        for d in 0..dim {
            let inverse = finite_inverse(sums.get(d));
            inverses.push(inverse.ok_or_else(|| {
                Error::data(format!(
                    "the MLLT statistics of dimension {d} are singular: are there enough data?"
                ))
            })?);
        }
        let mut transform = DMatrix::<f64>::identity(dim, dim);
        let mut improvement = 0.0;
        for iteration in 0..ITERATIONS {
            // Rows of the cofactors, up to a factor: the inverse, transposed; each new row changes it by one outer product.
            let mut inverse = transform.clone().try_inverse().ok_or_else(singular)?;
            for (d, inverse_d) in inverses.iter().enumerate() {
                let cofactor = inverse.column(d).into_owned();
                let solved = inverse_d * &cofactor;
                let scale = (self.count / cofactor.dot(&solved)).sqrt();
                let new: RowDVector<f64> = (solved * scale).transpose();
                let old: RowDVector<f64> = transform.row(d).into_owned();
                let objective = |row: &RowDVector<f64>| {
                    let products = sums.times(d, row.transpose().as_slice());
                    self.count * row.dot(&cofactor.transpose()).abs().ln()
                        - 0.5 * row.transpose().dot(&products)
                };
                improvement += objective(&new) - objective(&old);
                replace_row(&mut transform, &mut inverse, d, &new);
            }
            if iteration < REPORTED || iteration % REPORTED == 0 {
                report(iteration, improvement / self.count);
            }
        }
        let log_determinant = log_abs_determinant(transform.clone());
        if !transform.iter().all(|x| x.is_finite()) {
            return Err(singular());
        }
        let matrix = DenseMatrix { rows: dim, cols: dim, data: row_major(&transform) };
        Ok(MlltEstimate { matrix, improvement: improvement / self.count, log_determinant })
    }
}

fn singular() -> Error {
    Error::data("the MLLT transform has become singular: are there enough data?")
}

/// Replaces a row of a matrix, and changes the inverse accordingly (Sherman and Morrison).
pub(crate) fn replace_row(
    matrix: &mut DMatrix<f64>,
    inverse: &mut DMatrix<f64>,
    row: usize,
    new: &RowDVector<f64>,
) {
    // A + e δᵀ with δ the change of row d: A⁻¹ − (A⁻¹ e)(δᵀ A⁻¹) / (1 + δᵀ A⁻¹ e).
    let change = new - matrix.row(row);
    let products = &change * &*inverse;
    let column = inverse.column(row).into_owned();
    inverse.ger(-1.0 / (1.0 + products[row]), &column, &products.transpose(), 1.0);
    matrix.set_row(row, new);
}

/// The elements of a matrix, row after row, in single precision.
pub(crate) fn row_major(matrix: &DMatrix<f64>) -> Vec<f32> {
    matrix.transpose().iter().map(|&x| x as f32).collect()
}

/// A transform, and how good it is.
#[derive(Debug, Clone, PartialEq)]
pub struct MlltEstimate {
    pub matrix: DenseMatrix<f32>,
    /// Growth of the objective function, per frame.
    pub improvement: f64,
    /// The logarithm of the absolute determinant.
    pub log_determinant: f64,
}

impl KaldiObject for MlltStats {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<MlltStats> {
        r.expect_token("<MlltAccs>")?;
        let count = r.read_f64()?;
        let dim = r.read_i32().and_then(|n| r.check_count(n, "dimensions"))?;
        r.expect_token("<G>")?;
        let mut matrices = Vec::new();
        for d in 0..dim {
            let matrix = PackedMatrix::<f64>::read(r)?;
            if matrix.dim != dim {
                return Err(r.error(format!("matrix {d} of {dim} has {} rows", matrix.dim)));
            }
            matrices.push(matrix);
        }
        r.expect_token("</MlltAccs>")?;
        let mut stats = MlltStats::new(dim);
        stats.count = count;
        for (d, matrix) in matrices.iter().enumerate() {
            stats.sums.packed_mut(d).copy_from_slice(&matrix.data);
        }
        Ok(stats)
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<MlltAccs>")?;
        w.write_f64(self.count)?;
        w.write_i32(w.count(self.dim)?)?;
        w.write_token("<G>")?;
        let mut sums = self.sums.clone();
        sums.flush();
        for d in 0..self.dim {
            PackedMatrix { dim: self.dim, data: sums.packed(d).to_vec() }.write(w)?;
        }
        w.write_token("</MlltAccs>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::from_text;
    use crate::testing_models::{both_forms, features, mixture};

    fn stats() -> MlltStats {
        let (gmm, frames) = (mixture(2, 3, 1), features(200, 3, 2));
        let mut stats = MlltStats::new(3);
        for t in 0..frames.rows {
            let row = frames.row(t);
            // Correlated dimensions.
            let frame = [row[0], row[0] + 0.3 * row[1], row[2]];
            stats.add(&gmm, &frame, &[0.75, 0.25], 0.0, &mut || 0);
        }
        stats
    }

    /// Σ_d of the objective function, from the definition.
    fn objective(stats: &MlltStats, transform: &DMatrix<f64>) -> f64 {
        let mut sums = stats.sums.clone();
        sums.flush();
        let rows = (0..3).map(|d| (transform.row(d) * sums.get(d) * transform.row(d).transpose())[0]);
        stats.count * transform.determinant().abs().ln() - 0.5 * rows.sum::<f64>()
    }

    #[test]
    fn the_estimate_is_a_maximum() {
        let stats = stats();
        assert_eq!(stats.count(), 200.0);
        let mut reported = Vec::new();
        let estimate = stats.estimate(&mut |iteration, gain| reported.push((iteration, gain))).unwrap();
        let transform = DMatrix::from_row_iterator(3, 3, estimate.matrix.data.iter().map(|&x| f64::from(x)));
        let best = objective(&stats, &transform);
        let gain = (best - objective(&stats, &DMatrix::identity(3, 3))) / 200.0;
        assert!((gain - estimate.improvement).abs() < 1e-5, "{gain} {}", estimate.improvement);
        assert!((transform.determinant().abs().ln() - estimate.log_determinant).abs() < 1e-5);
        for at in 0..9 {
            for step in [-0.01, 0.01] {
                let mut other = transform.clone();
                other[at] += step;
                assert!(objective(&stats, &other) < best);
            }
        }
        assert_eq!(reported.len(), 29);
        assert!(reported.windows(2).all(|pair| pair[0].1 <= pair[1].1 + 1e-9));
    }

    #[test]
    fn merging_and_files() {
        let mut twice = stats();
        twice.merge(&stats()).unwrap();
        assert_eq!(twice.count(), 400.0);
        let same = twice.estimate(&mut |_, _| ()).unwrap().matrix;
        let other = stats().estimate(&mut |_, _| ()).unwrap().matrix;
        assert!(same.data.iter().zip(&other.data).all(|(a, b)| (a - b).abs() < 1e-5));
        assert!(twice.merge(&MlltStats::new(2)).is_err());
        let (text, binary) = both_forms(&stats());
        assert!(binary.starts_with(b"<MlltAccs> \x08"));
        let again: MlltStats = from_text(&text).unwrap();
        assert_eq!((again.dim, again.count), (3, 200.0));
        assert!(from_text::<MlltStats>(&text.replace("200 3", "200 2")).is_err());
        assert!(MlltStats::new(2).estimate(&mut |_, _| ()).unwrap_err().to_string().contains("singular"));
    }
}
