//! Statistics for training an extractor, and their file.

use kaldi_io::matrix::write_matrix;
use kaldi_io::{DenseMatrix, KaldiObject, KaldiReader, KaldiWriter, read_vector, write_vector};
use kaldi_io::{IoError, Real, SymmetricMatrix};
use kaldi_numerics::triangle;

use crate::extractor::{IvectorExtractor, Weights};

/// Sums over utterances, each with counts γ_g, first-order statistics F_g and an i-vector with mean x and covariance V.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExtractorStats {
    /// Dimensions of the model that the statistics are for.
    pub(crate) shape: Shape,
    /// Sum of the objectives of the utterances.
    pub objective: f64,
    /// Σ γ_g.
    pub counts: Vec<f64>,
    /// Y_g = Σ F_g xᵀ: (Gaussians · feature dimension) × i-vector dimension, row after row.
    pub(crate) linear: Vec<f64>,
    /// R_g = Σ γ_g (V + xxᵀ): a row for each Gaussian, its lower triangle. In single precision in files.
    pub(crate) quadratic: Vec<f64>,
    /// Statistics for weights that depend on the i-vector.
    pub(crate) weights: Option<WeightStats>,
    /// S_g = Σ p xxᵀ over frames x with posteriors p: the lower triangles of all Gaussians. `None` if variances are not to be
    /// updated.
    pub(crate) scatter: Option<Vec<f64>>,
    /// Number of i-vectors, their sum Σ x, and Σ V + xxᵀ.
    pub(crate) num_ivectors: f64,
    pub(crate) ivector_sum: Vec<f64>,
    pub(crate) ivector_scatter: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Shape {
    pub gaussians: usize,
    pub feature_dim: usize,
    pub ivector_dim: usize,
}

/// Sums of quadratic approximations of the logarithms of weights softmax(W x), as functions of W.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct WeightStats {
    /// Q_g = Σ m_g xxᵀ: a row for each Gaussian, its lower triangle. In single precision in files.
    pub quadratic: Vec<f64>,
    /// G: Gaussians × i-vector dimension.
    pub linear: Vec<f64>,
}

impl Shape {
    pub fn of(extractor: &IvectorExtractor) -> Shape {
        Shape {
            gaussians: extractor.num_gauss(),
            feature_dim: extractor.feature_dim(),
            ivector_dim: extractor.ivector_dim(),
        }
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Shape { gaussians, feature_dim, ivector_dim } = self;
        write!(
            f,
            "{gaussians} Gaussians of dimension {feature_dim} with i-vectors of dimension {ivector_dim}"
        )
    }
}

impl ExtractorStats {
    /// Zeros for an extractor; with `variances`, the covariances of the Gaussians can be updated too.
    pub fn new(extractor: &IvectorExtractor, variances: bool) -> ExtractorStats {
        let shape = Shape::of(extractor);
        let Shape { gaussians, feature_dim, ivector_dim } = shape;
        let triangle = triangle::len(ivector_dim);
        let regression = matches!(extractor.weights, Weights::Regression(_));
        ExtractorStats {
            shape,
            objective: 0.0,
            counts: vec![0.0; gaussians],
            linear: vec![0.0; gaussians * feature_dim * ivector_dim],
            quadratic: vec![0.0; gaussians * triangle],
            weights: regression.then(|| WeightStats {
                quadratic: vec![0.0; gaussians * triangle],
                linear: vec![0.0; gaussians * ivector_dim],
            }),
            scatter: variances.then(|| vec![0.0; gaussians * triangle::len(feature_dim)]),
            num_ivectors: 0.0,
            ivector_sum: vec![0.0; ivector_dim],
            ivector_scatter: vec![0.0; triangle],
        }
    }

    /// Reads statistics and adds them. After an error the sums are not to be used.
    ///
    /// # Errors
    /// If the file is damaged or the statistics are of another model.
    pub fn read_and_add(&mut self, r: &mut KaldiReader) -> kaldi_io::Result<()> {
        let first = self.counts.is_empty();
        r.expect_token("<IvectorExtractorStats>")?;
        r.expect_token("<TotAuxf>")?;
        self.objective += r.read_f64()?;
        r.expect_token("<gamma>")?;
        let counts = read_vector::<f64>(r)?;
        let count = counts.len();
        add(r, "<gamma>", &mut self.counts, counts)?;
        r.expect_token("<Y>")?;
        let found = r.read_i32()?;
        if count == 0 || usize::try_from(found) != Ok(count) {
            return Err(
                r.error(format!("<Y>: expected a matrix for each of {count} Gaussians, found {found}"))
            );
        }
        for g in 0..count {
            let y = DenseMatrix::<f64>::read(r)?;
            if first && g == 0 {
                self.shape = Shape { gaussians: count, feature_dim: y.rows, ivector_dim: y.cols };
            }
            let size = (self.shape.feature_dim, self.shape.ivector_dim);
            check(r, "<Y>", (y.rows, y.cols), size)?;
            add_part(r, "<Y>", &mut self.linear, first, g * size.0 * size.1, y.data)?;
        }
        let Shape { feature_dim, ivector_dim, .. } = self.shape;
        let triangle = triangle::len(ivector_dim);
        r.expect_token("<R>")?;
        let quadratic = DenseMatrix::<f32>::read(r)?;
        check(r, "<R>", (quadratic.rows, quadratic.cols), (count, triangle))?;
        add(r, "<R>", &mut self.quadratic, quadratic.data)?;
        r.expect_token("<Q>")?;
        let quadratic = DenseMatrix::<f32>::read(r)?;
        r.expect_token("<G>")?;
        let linear = DenseMatrix::<f64>::read(r)?;
        if first && quadratic.rows > 0 {
            self.weights = Some(WeightStats::default());
        }
        match &mut self.weights {
            None => {
                check(r, "<Q>", (quadratic.rows, quadratic.cols), (0, 0))?;
                check(r, "<G>", (linear.rows, linear.cols), (0, 0))?;
            }
            Some(weights) => {
                check(r, "<Q>", (quadratic.rows, quadratic.cols), (count, triangle))?;
                check(r, "<G>", (linear.rows, linear.cols), (count, ivector_dim))?;
                add(r, "<Q>", &mut weights.quadratic, quadratic.data)?;
                add(r, "<G>", &mut weights.linear, linear.data)?;
            }
        }
        self.read_scatter(r, first, feature_dim)?;
        r.expect_token("<NumIvectors>")?;
        self.num_ivectors += r.read_f64()?;
        r.expect_token("<IvectorSum>")?;
        let sum = read_vector::<f64>(r)?;
        check(r, "<IvectorSum>", (1, sum.len()), (1, ivector_dim))?;
        add(r, "<IvectorSum>", &mut self.ivector_sum, sum)?;
        r.expect_token("<IvectorScatter>")?;
        let scatter = SymmetricMatrix::<f64>::read(r)?;
        check(r, "<IvectorScatter>", (scatter.dim, scatter.dim), (ivector_dim, ivector_dim))?;
        add(r, "<IvectorScatter>", &mut self.ivector_scatter, scatter.data)?;
        if !self.objective.is_finite() || !self.num_ivectors.is_finite() {
            return Err(r.error("<TotAuxf> or <NumIvectors> is not finite"));
        }
        r.expect_token("</IvectorExtractorStats>")
    }

    fn read_scatter(&mut self, r: &mut KaldiReader, first: bool, feature_dim: usize) -> kaldi_io::Result<()> {
        r.expect_token("<S>")?;
        let found = r.read_i32()?;
        if first && found != 0 {
            self.scatter = Some(Vec::new());
        }
        let expected = if self.scatter.is_some() { self.shape.gaussians } else { 0 };
        if usize::try_from(found) != Ok(expected) {
            return Err(r.error(format!("<S>: expected {expected} matrices, found {found}")));
        }
        let size = triangle::len(feature_dim);
        for g in 0..expected {
            let s = SymmetricMatrix::<f64>::read(r)?;
            check(r, "<S>", (s.dim, s.dim), (feature_dim, feature_dim))?;
            if let Some(scatter) = &mut self.scatter {
                add_part(r, "<S>", scatter, first, g * size, s.data)?;
            }
        }
        Ok(())
    }
}

/// Refuses a matrix of another size.
fn check(
    r: &KaldiReader,
    name: &str,
    found: (usize, usize),
    expected: (usize, usize),
) -> kaldi_io::Result<()> {
    match found == expected {
        true => Ok(()),
        false => Err(
            r.error(format!("{name}: expected {}×{}, found {}×{}", expected.0, expected.1, found.0, found.1))
        ),
    }
}

/// Adds values to a sum, or makes them the sum if it is empty.
fn add<T: Real>(r: &KaldiReader, name: &str, sum: &mut Vec<f64>, values: Vec<T>) -> kaldi_io::Result<()> {
    let first = sum.is_empty();
    if !first && sum.len() != values.len() {
        return Err(r.error(format!("{name}: expected {} values, found {}", sum.len(), values.len())));
    }
    add_part(r, name, sum, first, 0, values)
}

/// Adds values to a part of a sum, or appends them to it if they are the `first`.
fn add_part<T: Real>(
    r: &KaldiReader,
    name: &str,
    sum: &mut Vec<f64>,
    first: bool,
    start: usize,
    values: Vec<T>,
) -> kaldi_io::Result<()> {
    if let Some(value) = values.iter().map(|value| value.to_f64()).find(|value| !value.is_finite()) {
        return Err(r.error(format!("{name}: invalid value {value}")));
    }
    let values = values.into_iter().map(|value| value.to_f64());
    match first {
        true => sum.extend(values),
        false => sum[start..].iter_mut().zip(values).for_each(|(sum, x)| *sum += x),
    }
    Ok(())
}

impl KaldiObject for ExtractorStats {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Self> {
        let mut stats = ExtractorStats::default();
        stats.read_and_add(r)?;
        Ok(stats)
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        let Shape { gaussians, feature_dim, ivector_dim } = self.shape;
        if gaussians == 0 {
            return Err(IoError::Value("there are no statistics to write".to_owned()));
        }
        let triangle = triangle::len(ivector_dim);
        let single = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        w.write_token("<IvectorExtractorStats>")?;
        w.write_token("<TotAuxf>")?;
        w.write_f64(self.objective)?;
        w.write_token("<gamma>")?;
        write_vector(w, &self.counts)?;
        w.write_token("<Y>")?;
        w.write_i32(w.count(gaussians)?)?;
        for y in self.linear.chunks_exact(feature_dim * ivector_dim) {
            write_matrix(w, feature_dim, ivector_dim, y)?;
        }
        w.write_token("<R>")?;
        write_matrix(w, gaussians, triangle, &single(&self.quadratic))?;
        let none = WeightStats::default();
        let (weights, rows) = self.weights.as_ref().map_or((&none, 0), |weights| (weights, gaussians));
        w.write_token("<Q>")?;
        write_matrix(w, rows, if rows == 0 { 0 } else { triangle }, &single(&weights.quadratic))?;
        w.write_token("<G>")?;
        write_matrix(w, rows, if rows == 0 { 0 } else { ivector_dim }, &weights.linear)?;
        w.write_token("<S>")?;
        w.write_i32(w.count(if self.scatter.is_some() { gaussians } else { 0 })?)?;
        for s in self.scatter.iter().flat_map(|scatter| scatter.chunks_exact(triangle::len(feature_dim))) {
            SymmetricMatrix { dim: feature_dim, data: s.to_vec() }.write(w)?;
        }
        w.write_token("<NumIvectors>")?;
        w.write_f64(self.num_ivectors)?;
        w.write_token("<IvectorSum>")?;
        write_vector(w, &self.ivector_sum)?;
        w.write_token("<IvectorScatter>")?;
        SymmetricMatrix { dim: ivector_dim, data: self.ivector_scatter.clone() }.write(w)?;
        w.write_token("</IvectorExtractorStats>")
    }
}

#[cfg(test)]
#[path = "stats_tests.rs"]
mod tests;
