//! Principal components (`bin/est-pca.cc`).

use kaldi_numerics::eigen::signed::Eigen;
use nalgebra::{DMatrix, DVector};

use crate::error::{Error, Result};
use kaldi_io::DenseMatrix;

/// Variances below this count as this when directions are scaled to variance 1.
const LEAST_VARIANCE: f64 = 1e-15;

/// Sums over vectors, in double precision.
#[derive(Debug, Clone, Default)]
pub struct PcaStats {
    count: f64,
    sum: Vec<f64>,
    /// Rows of the lower triangle.
    squares: Vec<f64>,
}

/// The rows of a transform.
#[derive(Debug, Clone, PartialEq)]
pub struct PcaOptions {
    /// Number of directions that are kept; `None` keeps all.
    pub dim: Option<usize>,
    pub normalize_variance: bool,
    /// Adds a column with offsets that make the mean zero.
    pub normalize_mean: bool,
}

/// Principal components, in descending order of variance.
#[derive(Debug, Clone, PartialEq)]
pub struct Pca {
    pub transform: DenseMatrix<f32>,
    /// The transform with all directions.
    pub full: DenseMatrix<f32>,
    /// Variances of all directions, descending.
    pub variances: Vec<f64>,
    /// Directions with nearly no variance, which were scaled as if they had the least one.
    pub floored: usize,
}

impl PcaStats {
    /// The dimension of the vectors; 0 before the first one.
    pub fn dim(&self) -> usize {
        self.sum.len()
    }

    /// Adds a vector. It is an error if its dimension differs from the first vector's.
    pub fn add(&mut self, vector: &[f32]) -> Result<()> {
        let dim = vector.len();
        if self.count == 0.0 {
            self.sum = vec![0.0; dim];
            self.squares = vec![0.0; dim * (dim + 1) / 2];
        }
        if dim != self.dim() {
            return Err(Error::data(format!("dimension {dim}, before it was {}", self.dim())));
        }
        self.count += 1.0;
        self.sum.iter_mut().zip(vector).for_each(|(sum, &x)| *sum += f64::from(x));
        let mut at = 0;
        for (i, &x) in vector.iter().enumerate() {
            let row = self.squares[at..=at + i].iter_mut().zip(vector);
            row.for_each(|(sum, &y)| *sum += f64::from(x) * f64::from(y));
            at += i + 1;
        }
        Ok(())
    }

    /// Finds the directions. It is an error if there are no vectors, or fewer dimensions than requested.
    pub fn estimate(&self, options: &PcaOptions) -> Result<Pca> {
        let dim = self.dim();
        if dim == 0 {
            return Err(Error::data("No data accumulated."));
        }
        let kept = options.dim.unwrap_or(dim);
        if kept > dim {
            return Err(Error::options(format!("`dim`={kept}: the data have dimension {dim}")));
        }
        let mean = DVector::from_iterator(dim, self.sum.iter().map(|sum| sum / self.count));
        let square = |i: usize, j: usize| self.squares[i.max(j) * (i.max(j) + 1) / 2 + i.min(j)];
        let covariance = DMatrix::from_fn(dim, dim, |i, j| square(i, j) / self.count - mean[i] * mean[j]);
        let eigen = Eigen::new(&covariance).ok_or_else(|| Error::data("the covariance is not finite"))?;
        let Eigen { values, vectors: mut rows } = eigen.sorted();
        let mut floored = 0;
        if options.normalize_variance {
            for (mut row, &value) in rows.row_iter_mut().zip(&values) {
                floored += usize::from(value < LEAST_VARIANCE);
                row /= value.max(LEAST_VARIANCE).sqrt();
            }
        }
        let offset = options.normalize_mean.then(|| -(&rows * mean));
        let mut data = Vec::new();
        for (i, row) in rows.row_iter().enumerate() {
            data.extend(row.iter().map(|&x| x as f32));
            data.extend(offset.as_ref().map(|offset| offset[i] as f32));
        }
        let full = DenseMatrix { rows: dim, cols: dim + usize::from(options.normalize_mean), data };
        Ok(Pca { transform: full.block(0, kept, 0, full.cols), full, variances: values, floored })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::matrix;

    #[test]
    fn components_are_uncorrelated() {
        let (data, mix) = (matrix(200, 3, 1), matrix(3, 3, 2));
        let data = crate::transform::apply(&data, &mix).unwrap();
        let mut stats = PcaStats::default();
        (0..200).for_each(|t| stats.add(data.row(t)).unwrap());
        assert!(stats.add(&[1.0]).is_err());
        for normalize_variance in [false, true] {
            let options = PcaOptions { dim: Some(2), normalize_variance, normalize_mean: true };
            let Pca { transform, full, variances, floored } = stats.estimate(&options).unwrap();
            assert_eq!((transform.rows, transform.cols, full.rows, floored), (2, 4, 3, 0));
            assert_eq!(transform.data[..], full.data[..8]);
            let out = crate::transform::apply(&data, &full).unwrap();
            for (i, &own_variance) in variances.iter().enumerate() {
                let column = |j: usize| (0..200).map(move |t| (t, j));
                let mean: f64 = column(i).map(|(t, i)| f64::from(out.row(t)[i])).sum::<f64>() / 200.0;
                assert!(mean.abs() < 1e-5);
                for j in 0..3 {
                    let product =
                        |(t, i): (usize, usize)| f64::from(out.row(t)[i]) * f64::from(out.row(t)[j]);
                    let covariance = column(i).map(product).sum::<f64>() / 200.0;
                    let variance = if normalize_variance { 1.0 } else { own_variance };
                    let expected = if i == j { variance } else { 0.0 };
                    assert!((covariance - expected).abs() < 1e-4, "{i} {j} {covariance}");
                }
            }
        }
        let too_many = PcaOptions { dim: Some(4), normalize_variance: false, normalize_mean: false };
        assert!(stats.estimate(&too_many).is_err());
        let error = PcaStats::default().estimate(&PcaOptions { dim: None, ..too_many }).unwrap_err();
        assert!(error.to_string().contains("No data"));
    }
}
