//! Log-likelihoods of frames by all Gaussians of one mixture, as matrix products.
//!
//! The weighted log-density of Gaussian i at x is g_i + a_i · φ(x), where φ(x) has x and products of its elements.
//! These are x_d² for diagonal covariances, and all x_d x_e with e ≤ d for full ones. A block of frames is one product
//! of matrices.

use std::borrow::Cow;

use kaldi_io::DenseMatrix;
use kaldi_simd::Portable;
use nalgebra::{DMatrix, DMatrixView};

use crate::error::{Error, Result};
use crate::full::FullGmm;
use crate::gmm::DiagGmm;
use crate::products::Order;

/// Frames that are multiplied together.
pub const FRAMES: usize = 128;

/// The products of elements of a frame that a mixture needs beside the elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Covariance {
    /// x_d².
    Diagonal,
    /// x_d x_e with e ≤ d, row after row of the lower triangle.
    Full,
}

impl Covariance {
    /// The number of products of a frame of dimension `dim`.
    pub fn products(self, dim: usize) -> usize {
        match self {
            Covariance::Diagonal => dim,
            Covariance::Full => dim * (dim + 1) / 2,
        }
    }

    /// Adds the products of a frame, times `factor`, to `sums`. The reference multiplies in this order, too.
    #[inline(always)]
    pub fn add(self, factor: f64, frame: &[f64], sums: &mut [f64]) {
        match self {
            Covariance::Diagonal => {
                sums.iter_mut().zip(frame).for_each(|(sum, x)| *sum += factor * (x * x));
            }
            Covariance::Full => {
                let mut first = 0;
                for (d, x) in frame.iter().enumerate() {
                    let x = factor * x;
                    let row = sums[first..=first + d].iter_mut().zip(frame);
                    row.for_each(|(sum, y)| *sum += x * y);
                    first += d + 1;
                }
            }
        }
    }

    /// Appends the products of a frame to `out`.
    pub fn append<T: Copy + std::ops::Mul<Output = T>>(self, frame: &[T], out: &mut Vec<T>) {
        match self {
            Covariance::Diagonal => out.extend(frame.iter().map(|&x| x * x)),
            Covariance::Full => {
                for (d, &x) in frame.iter().enumerate() {
                    out.extend(frame[..=d].iter().map(|&y| x * y));
                }
            }
        }
    }
}

/// A mixture prepared for blocks of frames.
#[derive(Debug, Clone)]
pub struct Scorer {
    covariance: Covariance,
    dim: usize,
    gconsts: Vec<f32>,
    /// A row a_i for each Gaussian, for single Gaussians.
    rows: DenseMatrix<f32>,
    /// The same in the order of the library of products: column after column.
    columns: DMatrix<f32>,
}

impl From<&DiagGmm> for Scorer {
    fn from(gmm: &DiagGmm) -> Scorer {
        let row = |g: usize| {
            let squares = gmm.inv_vars().row(g).map(|inv_var| -0.5 * inv_var);
            gmm.means_invvars().row(g).chain(squares).collect()
        };
        Scorer::new(Covariance::Diagonal, gmm.dim(), gmm.gconsts(), row)
    }
}

impl From<&FullGmm> for Scorer {
    fn from(gmm: &FullGmm) -> Scorer {
        let row = |g: usize| {
            let mut out = gmm.means_invcovars().row(g).to_vec();
            let covar = &gmm.inv_covars()[g];
            for d in 0..gmm.dim() {
                out.extend((0..d).map(|e| -covar.get(d, e)));
                out.push(-0.5 * covar.get(d, d));
            }
            out
        };
        Scorer::new(Covariance::Full, gmm.dim(), gmm.gconsts(), row)
    }
}

impl Scorer {
    fn new(covariance: Covariance, dim: usize, gconsts: &[f32], row: impl Fn(usize) -> Vec<f32>) -> Scorer {
        let rows: Vec<Vec<f32>> = (0..gconsts.len()).map(row).collect();
        let rows = DenseMatrix::from_rows(&rows);
        let columns = DMatrix::from_row_slice(rows.rows, rows.cols, &rows.data);
        Scorer { covariance, dim, gconsts: gconsts.to_vec(), rows, columns }
    }

    pub fn dim(&self) -> usize {
        self.dim
    }
    pub fn num_gauss(&self) -> usize {
        self.gconsts.len()
    }

    /// An error unless features have the mixture's dimension.
    pub fn check_dim(&self, features: &DenseMatrix<f32>) -> Result<()> {
        if features.rows == 0 || features.cols == self.dim {
            return Ok(());
        }
        let (found, expected) = (features.cols, self.dim);
        Err(Error::data(format!("features have dimension {found}, the mixture {expected}")))
    }

    /// An error unless features have the mixture's dimension, and their squares are finite.
    pub fn check_features(&self, features: &DenseMatrix<f32>) -> Result<()> {
        self.check_dim(features)?;
        if let Some(found) = features.not_finite() {
            return Err(Error::data(found.to_string()));
        }
        match features.data.iter().position(|x| !(x * x).is_finite()) {
            Some(at) => {
                let (frame, column, value) = (at / self.dim, at % self.dim, features.data[at]);
                Err(Error::data(format!(
                    "frame {frame} has the value {value:e} in column {column}, which is too large"
                )))
            }
            None => Ok(()),
        }
    }

    /// φ of a frame: its elements and their products.
    fn expand(&self, frame: &[f32], out: &mut Vec<f32>) {
        out.extend_from_slice(frame);
        self.covariance.append(frame, out);
    }

    /// Computes log-likelihoods of frames: a row for each frame, a column for each Gaussian. `frames` holds frames of
    /// [`dim`](Self::dim) elements one after the other.
    pub fn log_likelihoods(&self, frames: &[f32]) -> DenseMatrix<f32> {
        let (count, width) = (frames.len() / self.dim, self.rows.cols);
        let mut expanded = Vec::with_capacity(count * width);
        frames.chunks_exact(self.dim).for_each(|frame| self.expand(frame, &mut expanded));
        let mut out = DMatrix::from_fn(self.num_gauss(), count, |g, _| self.gconsts[g]);
        // Rows of our matrices are columns of the library's.
        out.gemm(1.0, &self.columns, &DMatrixView::from_slice(&expanded, width, count), 1.0);
        DenseMatrix { rows: count, cols: self.num_gauss(), data: out.as_slice().to_vec() }
    }

    /// Calls `f` with the number of each frame and the log-likelihoods of all Gaussians at it, block by block. `f` may
    /// change them. An error of `f` ends the loop and gets the number of the frame.
    pub fn for_each_frame(
        &self,
        features: &DenseMatrix<f32>,
        mut f: impl FnMut(usize, &mut [f32]) -> Result<()>,
    ) -> Result<()> {
        self.check_features(features)?;
        for first in (0..features.rows).step_by(FRAMES) {
            let last = features.rows.min(first + FRAMES);
            let mut block = self.log_likelihoods(&features.data[first * self.dim..last * self.dim]);
            for t in first..last {
                f(t, block.row_mut(t - first)).map_err(|e| at_frame(t, &e))?;
            }
        }
        Ok(())
    }

    /// Computes the log-likelihoods of listed Gaussians at a frame of [`dim`](Self::dim) elements, in the order of the list.
    ///
    /// For diagonal covariances the reference has a shortcut for lists g₁ … g_n with g_n + 1 − g₁ = n. It takes the Gaussians
    /// from g₁ to g_n in ascending order, whatever the elements between are. Lists sorted by likelihood have such ends by
    /// chance, and get the same values here.
    pub fn listed(&self, frame: &[f32], list: &[usize]) -> Vec<f32> {
        let mut expanded = Vec::with_capacity(self.rows.cols);
        self.expand(frame, &mut expanded);
        let list = match (self.covariance, list) {
            (Covariance::Diagonal, &[first, .., last]) if last + 1 == first + list.len() => {
                Cow::Owned((first..=last).collect())
            }
            _ => Cow::Borrowed(list),
        };
        let likelihood =
            |&g: &usize| Order::Single.add::<Portable>(self.gconsts[g], 1.0, self.rows.row(g), &expanded);
        list.iter().map(likelihood).collect()
    }

    /// Checks the lists of an utterance's frames, as tables have them, and returns them as indexes. An error if there are
    /// not as many as frames, or if a list is empty or has a number that is no Gaussian's.
    pub fn check_lists(&self, lists: &[Vec<i32>], frames: usize) -> Result<Vec<Vec<usize>>> {
        if lists.len() != frames {
            return Err(Error::data(format!("wrong size {} vs. {frames}", lists.len())));
        }
        let index = |t: usize, g: i32| {
            let index = usize::try_from(g).ok().filter(|&g| g < self.num_gauss());
            index.ok_or_else(|| {
                let count = self.num_gauss();
                Error::data(format!("Gaussian {g} at frame {t}, but the mixture has {count} Gaussians"))
            })
        };
        let check = |(t, list): (usize, &Vec<i32>)| match list.is_empty() {
            true => Err(Error::data(format!("an empty list at frame {t}"))),
            false => list.iter().map(|&g| index(t, g)).collect(),
        };
        lists.iter().enumerate().map(check).collect()
    }
}

pub(crate) fn at_frame(t: usize, error: &Error) -> Error {
    Error::data(format!("frame {t}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::Frame;
    use crate::testing_models::{features, full_mixture, mixture};
    use nalgebra::DVector;

    /// The definition of the weighted log-density, with mean and covariance.
    fn slow(gmm: &FullGmm, g: usize, frame: &[f32]) -> f64 {
        let (mean, covar) = (gmm.mean(g).unwrap(), gmm.covariance(g).unwrap());
        let difference = DVector::from_fn(mean.len(), |d, _| f64::from(frame[d]) - mean[d]);
        let covar = DMatrix::from_fn(mean.len(), mean.len(), |i, j| covar.get(i, j));
        let scale = (2.0 * std::f64::consts::PI).powi(mean.len() as i32) * covar.determinant();
        let distance = (difference.transpose() * covar.try_inverse().unwrap() * &difference)[0];
        f64::from(gmm.weights()[g]).ln() - 0.5 * (scale.ln() + distance)
    }

    #[test]
    fn full_covariances() {
        let (gmm, features) = (full_mixture(5, 4, 3), features(300, 4, 8));
        let scorer = Scorer::from(&gmm);
        let mut count = 0;
        let check = |t: usize, likelihoods: &mut [f32]| {
            assert_eq!((t, likelihoods.len()), (count, 5));
            count += 1;
            let listed = scorer.listed(features.row(t), &[3, 0]);
            for (g, found) in likelihoods.iter().copied().enumerate().chain([(3, listed[0]), (0, listed[1])])
            {
                let expected = slow(&gmm, g, features.row(t));
                assert!((f64::from(found) - expected).abs() < 1e-4, "{found} {expected}");
            }
            Ok(())
        };
        scorer.for_each_frame(&features, check).unwrap();
        assert_eq!(count, 300);
    }

    #[test]
    fn diagonal_covariances() {
        let (gmm, features) = (mixture(6, 5, 4), features(10, 5, 8));
        let (mut frame, mut expected) = (Frame::default(), Vec::new());
        let near = |found: &[f32], expected: &[f32]| {
            assert_eq!(found.len(), expected.len());
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?} {expected:?}");
        };
        let scorer = Scorer::from(&gmm);
        let check = |t: usize, found: &mut [f32]| {
            frame.set(features.row(t));
            gmm.component_log_likelihoods(&frame, &mut expected);
            near(found, &expected);
            let of = |list: &[usize]| list.iter().map(|&g| expected[g]).collect::<Vec<_>>();
            for list in [&[4][..], &[5, 2], &[0, 3, 1], &[1, 2, 3]] {
                near(&scorer.listed(features.row(t), list), &of(list));
            }
            // The ends are two apart in a list of three: the range counts.
            near(&scorer.listed(features.row(t), &[1, 5, 3]), &of(&[1, 2, 3]));
            Ok(())
        };
        scorer.for_each_frame(&features, check).unwrap();
    }

    #[test]
    fn wrong_features_and_lists() {
        let scorer = Scorer::from(&mixture(3, 2, 4));
        let error = |features: &DenseMatrix<f32>| scorer.check_features(features).unwrap_err().to_string();
        assert!(error(&DenseMatrix::new(1, 3)).contains("dimension 3, the mixture 2"));
        let mut with_nan = DenseMatrix::new(2, 2);
        with_nan.data[3] = f32::NAN;
        assert!(error(&with_nan).contains("frame 1 has the value nan in column 1"));
        with_nan.data[3] = 1e30;
        assert!(error(&with_nan).contains("frame 1 has the value 1e30 in column 1, which is too large"));
        let failed = scorer.for_each_frame(&DenseMatrix::new(3, 2), |t, _| match t {
            1 => Err(Error::data("no")),
            _ => Ok(()),
        });
        assert_eq!(failed.unwrap_err().to_string(), "frame 1: no");
        let lists = |lists: &[Vec<i32>]| scorer.check_lists(lists, 1).map_err(|e| e.to_string());
        assert_eq!(lists(&[vec![2, 0]]), Ok(vec![vec![2, 0]]));
        assert!(lists(&[]).unwrap_err().contains("wrong size 0 vs. 1"));
        assert!(lists(&[vec![]]).unwrap_err().contains("an empty list at frame 0"));
        for wrong in [3, -1] {
            let error = lists(&[vec![0, wrong]]).unwrap_err();
            assert!(
                error.contains(&format!("Gaussian {wrong} at frame 0, but the mixture has 3 Gaussians")),
                "{error}"
            );
        }
    }
}
