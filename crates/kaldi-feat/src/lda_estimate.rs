//! Transforms from statistics of classes: ordinary discriminant analysis (`transform/lda-estimate.cc`), and the
//! decorrelating transform in front of networks (`nnet2/get-feature-transform.cc`).
//!
//! With T, B and W = T - B the total, between-class and within-class covariances, W = L Lᵀ and L⁻¹ B L⁻ᵀ = U diag(d)
//! Uᵀ, d descending. The rows of Uᵀ L⁻¹ are directions with within-class variance 1 and between-class variance d.

use kaldi_numerics::svd::left::LeftSvd;
use kaldi_numerics::symmetric::{packed, symmetric_part};
use nalgebra::{Cholesky, DMatrix, DVector, SymmetricEigen};

use crate::error::{Error, Result};
use crate::lda::LdaStats;
use kaldi_io::{DenseMatrix, PackedMatrix};

/// The part of the mean variance that is added to the diagonal of a within-class covariance that is not positive definite.
const SMOOTHING: f64 = 1e-3;

/// The common part of both transforms.
#[derive(Debug, Clone, PartialEq)]
pub struct Directions {
    /// Sum of all weights.
    pub count: f64,
    /// Between-class variances of the directions, descending.
    pub variances: Vec<f64>,
    /// Addition to the diagonal of the within-class covariance that made it positive definite.
    pub smoothing: Option<f64>,
    mean: DVector<f64>,
    /// One direction a row, in the order of `variances`.
    rows: DMatrix<f64>,
    /// L.
    cholesky: DMatrix<f64>,
}

impl Directions {
    pub fn new(stats: &LdaStats) -> Result<Self> {
        let count = stats.count();
        if stats.dim() == 0 || count.is_nan() || count <= 0.0 {
            return Err(Error::data(format!("expected statistics with a count above 0, found {count}")));
        }
        let (mean, total, between) = covariances(stats, count);
        let mut within = &total - &between;
        let mut smoothing = None;
        let factor = Cholesky::new(within.clone()).or_else(|| {
            let add = SMOOTHING * within.trace() / stats.dim() as f64;
            smoothing = Some(add);
            (0..stats.dim()).for_each(|i| within[(i, i)] += add);
            Cholesky::new(within.clone())
        });
        let Some(factor) = factor else {
            return Err(Error::data(
                "the within-class covariance is not positive definite: are there enough data?",
            ));
        };
        let lower = factor.l();
        let half = lower.solve_lower_triangular(&between).ok_or_else(singular)?;
        let projected = lower.solve_lower_triangular(&half.transpose()).ok_or_else(singular)?;
        let LeftSvd { values: variances, vectors } =
            LeftSvd::new(&symmetric_part(&projected)).ok_or_else(singular)?;
        // (L⁻ᵀ U)ᵀ = Uᵀ L⁻¹
        let rows = lower.tr_solve_lower_triangular(&vectors).ok_or_else(singular)?.transpose();
        Ok(Directions { count, variances, smoothing, mean, rows, cholesky: lower })
    }

    /// The Cholesky factor L of the within-class covariance, by rows of its lower triangle.
    pub fn cholesky(&self) -> PackedMatrix<f32> {
        packed(&self.cholesky)
    }

    /// The within-class covariance.
    pub fn within_covariance(&self) -> PackedMatrix<f32> {
        packed(&(&self.cholesky * self.cholesky.transpose()))
    }

    /// Returns the first `dim` directions, scaled. If a direction has total variance 1 + d and between-class variance
    /// d, its total variance becomes `within_factor` + d.
    fn scaled(&self, dim: usize, within_factor: f64) -> DMatrix<f64> {
        let mut out = self.rows.rows(0, dim).into_owned();
        if within_factor != 1.0 {
            for (i, mut row) in out.row_iter_mut().enumerate() {
                let d = self.variances[i];
                row *= ((within_factor + d) / (1.0 + d)).sqrt();
            }
        }
        out
    }

    /// The transform in single precision; with `remove_offset` it has an offset in a last column that makes means zero.
    fn finish(&self, transform: &DMatrix<f64>, remove_offset: bool) -> DenseMatrix<f32> {
        let offset = remove_offset.then(|| -(transform * &self.mean));
        let mut data = Vec::new();
        for (i, row) in transform.row_iter().enumerate() {
            data.extend(row.iter().map(|&x| x as f32));
            data.extend(offset.as_ref().map(|offset| offset[i] as f32));
        }
        DenseMatrix { rows: transform.nrows(), cols: transform.ncols() + usize::from(remove_offset), data }
    }
}

fn singular() -> Error {
    Error::data("the within-class covariance is singular")
}

/// Mean, total covariance, between-class covariance.
fn covariances(stats: &LdaStats, count: f64) -> (DVector<f64>, DMatrix<f64>, DMatrix<f64>) {
    let dim = stats.dim();
    let row = |class: usize| DVector::from_column_slice(stats.sums.row(class));
    let mean = (0..stats.classes()).fold(DVector::zeros(dim), |sum, class| sum + row(class)) / count;
    let square_of_mean = &mean * mean.transpose();
    let total = DMatrix::from_fn(dim, dim, |i, j| stats.squares.get(i, j) / count) - &square_of_mean;
    let mut between = -square_of_mean;
    for (class, &weight) in stats.counts.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
        let class_mean = row(class) / weight;
        between.ger(weight / count, &class_mean, &class_mean, 1.0);
    }
    (mean, total, between)
}

/// Ordinary discriminant analysis.
#[derive(Debug, Clone, PartialEq)]
pub struct LdaOptions {
    pub dim: usize,
    /// More directions than classes can tell apart.
    pub allow_large_dim: bool,
    pub remove_offset: bool,
    pub within_class_factor: f64,
}

/// Two transforms: of `dim` rows, and with all directions.
pub fn lda(
    directions: &Directions,
    classes: usize,
    options: &LdaOptions,
) -> Result<(DenseMatrix<f32>, DenseMatrix<f32>)> {
    let all = directions.variances.len();
    check_dim(options.dim, all)?;
    if options.dim >= classes && !options.allow_large_dim {
        return Err(Error::options(format!(
            "`dim`={}: {classes} classes can only be told apart in {} dimensions; see `allow-large-dim`",
            options.dim,
            classes.saturating_sub(1)
        )));
    }
    let transform =
        |dim| directions.finish(&directions.scaled(dim, options.within_class_factor), options.remove_offset);
    Ok((transform(options.dim), transform(all)))
}

fn check_dim(dim: usize, available: usize) -> Result<()> {
    if (1..=available).contains(&dim) {
        return Ok(());
    }
    Err(Error::options(format!("`dim`={dim}: statistics have dimension {available}")))
}

/// The transform in front of networks.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureTransformOptions {
    /// Number of dimensions to keep; `None` keeps all.
    pub dim: Option<usize>,
    pub remove_offset: bool,
    /// Below 1, directions that tell little about the classes are scaled down.
    pub within_class_factor: f64,
    /// If this is above 0, larger singular values are reduced to it.
    pub max_singular_value: f64,
}

/// A transform, and the changes of its singular values.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureTransform {
    pub matrix: DenseMatrix<f32>,
    /// Number of reduced singular values.
    pub reduced: usize,
    pub largest_singular_value: f64,
}

pub fn feature_transform(
    directions: &Directions,
    options: &FeatureTransformOptions,
) -> Result<FeatureTransform> {
    let all = directions.variances.len();
    let dim = options.dim.unwrap_or(all);
    check_dim(dim, all)?;
    let mut transform = directions.scaled(dim, options.within_class_factor);
    let (mut reduced, mut largest) = (0, 0.0);
    if options.max_singular_value > 0.0 {
        // M = V diag(s) …: only the directions V of large s change, so the eigenvectors of M Mᵀ are accurate enough.
        let eigen = SymmetricEigen::new(&transform * transform.transpose());
        let limit = options.max_singular_value;
        let mut change = DMatrix::identity(dim, dim);
        for (i, &square) in eigen.eigenvalues.iter().enumerate() {
            let value = square.max(0.0).sqrt();
            largest = value.max(largest);
            if value > limit {
                reduced += 1;
                let vector = eigen.eigenvectors.column(i);
                change.ger(limit / value - 1.0, &vector, &vector, 1.0);
            }
        }
        if reduced > 0 {
            transform = change * transform;
        }
    }
    let matrix = directions.finish(&transform, options.remove_offset);
    Ok(FeatureTransform { matrix, reduced, largest_singular_value: largest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Numbers;

    const CLASSES: usize = 5;
    const DIM: usize = 4;

    /// Vectors around class means, correlated within classes.
    fn data() -> (DenseMatrix<f32>, Vec<usize>) {
        let mut numbers = Numbers(7);
        let mut rows = Vec::new();
        let mut labels = Vec::new();
        for i in 0..300 {
            let class = i % CLASSES;
            let mut row = [0f32; DIM];
            let common = numbers.next();
            for (d, x) in row.iter_mut().enumerate() {
                let mean = ((class * (d + 2)) % CLASSES) as f64 * 0.7 + 3.0;
                *x = (mean + numbers.next() * (d + 1) as f64 * 0.3 + common) as f32;
            }
            rows.push(row);
            labels.push(class);
        }
        (DenseMatrix::from_rows(&rows), labels)
    }

    fn directions() -> Directions {
        let (vectors, labels) = data();
        let mut classes = DenseMatrix::<f32>::new(vectors.rows, CLASSES);
        labels.iter().enumerate().for_each(|(i, &class)| classes.row_mut(i)[class] = 1.0);
        let mut stats = LdaStats::new(CLASSES, DIM);
        stats.add(&vectors, &classes.into(), |weight| weight).unwrap();
        Directions::new(&stats).unwrap()
    }

    /// Mean, within-class and between-class covariance of transformed data, the slow way.
    fn measure(transform: &DenseMatrix<f32>) -> (DVector<f64>, DMatrix<f64>, DMatrix<f64>) {
        let (vectors, labels) = data();
        let out = crate::transform::apply(&vectors, transform).unwrap();
        let points: Vec<DVector<f64>> = (0..out.rows)
            .map(|i| DVector::from_iterator(out.cols, out.row(i).iter().map(|&x| x.into())))
            .collect();
        let zero = DVector::zeros(out.cols);
        let mean = points.iter().fold(zero.clone(), |sum, x| sum + x) / points.len() as f64;
        let mut within = DMatrix::zeros(out.cols, out.cols);
        let mut between = within.clone();
        for class in 0..CLASSES {
            let own: Vec<_> =
                points.iter().zip(&labels).filter(|(_, c)| **c == class).map(|(x, _)| x).collect();
            let own_mean = own.iter().fold(zero.clone(), |sum, x| sum + *x) / own.len() as f64;
            for x in &own {
                within += (*x - &own_mean) * (*x - &own_mean).transpose() / points.len() as f64;
            }
            between += (&own_mean - &mean)
                * (&own_mean - &mean).transpose()
                * (own.len() as f64 / points.len() as f64);
        }
        (mean, within, between)
    }

    fn close(a: &DMatrix<f64>, b: &DMatrix<f64>, tolerance: f64) {
        assert!((a - b).amax() < tolerance, "{a}{b}");
    }

    #[test]
    fn lda_makes_classes_white_and_sorts_directions() {
        let directions = directions();
        assert_eq!(directions.count, 300.0);
        let options =
            LdaOptions { dim: 3, allow_large_dim: false, remove_offset: true, within_class_factor: 1.0 };
        let (transform, full) = lda(&directions, CLASSES, &options).unwrap();
        assert_eq!((transform.rows, transform.cols, full.rows, full.cols), (3, 5, 4, 5));
        assert_eq!(transform.data[..], full.data[..15]);
        let (mean, within, between) = measure(&full);
        assert!(mean.amax() < 1e-4);
        close(&within, &DMatrix::identity(4, 4), 1e-4);
        let variances = DVector::from_vec(directions.variances.clone());
        close(&between, &DMatrix::from_diagonal(&variances), 1e-4);
        assert!(directions.variances.windows(2).all(|w| w[0] >= w[1]));
        let linear = LdaOptions { remove_offset: false, ..options.clone() };
        assert_eq!(lda(&directions, CLASSES, &linear).unwrap().0.cols, 4);
        assert!(lda(&directions, 3, &options).unwrap_err().to_string().contains("3 classes"));
        assert!(lda(&directions, 3, &LdaOptions { allow_large_dim: true, ..options.clone() }).is_ok());
        for dim in [0, 5] {
            assert!(lda(&directions, 9, &LdaOptions { dim, ..options.clone() }).is_err());
        }
    }

    #[test]
    fn the_feature_transform_scales_directions() {
        let directions = directions();
        let options = FeatureTransformOptions {
            dim: None,
            remove_offset: true,
            within_class_factor: 0.001,
            max_singular_value: 0.0,
        };
        let whole = feature_transform(&directions, &options).unwrap();
        assert_eq!((whole.matrix.rows, whole.matrix.cols, whole.reduced), (4, 5, 0));
        let (mean, within, between) = measure(&whole.matrix);
        assert!(mean.amax() < 1e-4);
        let total = within + between;
        let expected = DVector::from_iterator(4, directions.variances.iter().map(|d| 0.001 + d));
        close(&total, &DMatrix::from_diagonal(&expected), 1e-4);

        let linear = |m: &DenseMatrix<f32>| DMatrix::from_fn(m.rows, 4, |i, j| f64::from(m.row(i)[j]));
        let before = linear(&whole.matrix).svd(true, true);
        let limit = (before.singular_values[0] + before.singular_values[1]) / 2.0;
        let limited = FeatureTransformOptions { max_singular_value: limit, ..options.clone() };
        let limited = feature_transform(&directions, &limited).unwrap();
        assert_eq!(limited.reduced, 1);
        assert!((limited.largest_singular_value - before.singular_values[0]).abs() < 1e-5);
        let mut values = before.singular_values.clone();
        values.iter_mut().for_each(|s| *s = s.min(limit));
        let expected = before.u.unwrap() * DMatrix::from_diagonal(&values) * before.v_t.unwrap();
        close(&linear(&limited.matrix), &expected, 1e-5);
        let two =
            feature_transform(&directions, &FeatureTransformOptions { dim: Some(2), ..options }).unwrap();
        assert_eq!(two.matrix.data[..], whole.matrix.data[..10]);
    }

    #[test]
    fn the_within_covariance_and_its_factor() {
        let identity = DenseMatrix::from_rows(&[
            [1.0f32, 0., 0., 0.],
            [0., 1., 0., 0.],
            [0., 0., 1., 0.],
            [0., 0., 0., 1.],
        ]);
        let (_, within, _) = measure(&identity);
        let directions = directions();
        let (covariance, factor) = (directions.within_covariance(), directions.cholesky());
        let lower = DMatrix::from_fn(4, 4, |i, j| if j > i { 0.0 } else { f64::from(factor.get(i, j)) });
        close(&DMatrix::from_fn(4, 4, |i, j| covariance.get(i, j).into()), &within, 1e-5);
        close(&(&lower * lower.transpose()), &within, 1e-5);
    }

    #[test]
    fn a_dimension_without_variance_is_smoothed() {
        let mut stats = LdaStats::new(2, 2);
        let vectors = DenseMatrix::from_rows(&[[1.0f32, 5.0], [2.0, 5.0], [4.0, 5.0], [7.0, 5.0]]);
        let classes = DenseMatrix::from_rows(&[[1.0f32, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]).into();
        stats.add(&vectors, &classes, |weight| weight).unwrap();
        let directions = Directions::new(&stats).unwrap();
        let within = (2.0 * 0.25 + 2.0 * 2.25) / 4.0;
        assert!((directions.smoothing.unwrap() - SMOOTHING * within / 2.0).abs() < 1e-9);
        assert!(
            Directions::new(&LdaStats::new(2, 2)).unwrap_err().to_string().contains("count above 0, found 0")
        );
    }
}
