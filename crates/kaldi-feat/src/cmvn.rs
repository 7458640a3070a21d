//! Cepstral mean and variance normalisation (`transform/cmvn.cc`).
//!
//! Statistics on disk are a matrix of 2 × (dim + 1): sums and, last, the count; sums of squares and a zero.

use crate::error::{Error, Result};
use kaldi_io::DenseMatrix;

/// Below this a variance is taken for a rounding error.
const VARIANCE_FLOOR: f64 = 1e-20;

/// Sums over frames.
#[derive(Debug, Clone, PartialEq)]
pub struct CmvnStats {
    pub count: f64,
    pub sums: Vec<f64>,
    /// Absent if the matrix had one row: then only means can be normalised.
    pub squares: Option<Vec<f64>>,
}

impl CmvnStats {
    /// No frames of `dim` dimensions.
    pub fn new(dim: usize) -> Self {
        CmvnStats { count: 0.0, sums: vec![0.0; dim], squares: Some(vec![0.0; dim]) }
    }

    pub fn dim(&self) -> usize {
        self.sums.len()
    }

    /// Takes statistics from the form that files have.
    pub fn from_matrix(m: &DenseMatrix<f64>) -> Result<Self> {
        if !(1..=2).contains(&m.rows) || m.cols < 2 {
            return Err(Error::data(format!(
                "expected normalisation statistics with 2 rows (sums with the count, squares), found {}×{}",
                m.rows, m.cols
            )));
        }
        let dim = m.cols - 1;
        let squares = (m.rows == 2).then(|| m.row(1)[..dim].to_vec());
        Ok(CmvnStats { count: m.row(0)[dim], sums: m.row(0)[..dim].to_vec(), squares })
    }

    pub fn to_matrix(&self) -> DenseMatrix<f64> {
        let mut data = self.sums.clone();
        data.push(self.count);
        if let Some(squares) = &self.squares {
            data.extend_from_slice(squares);
            data.push(0.0);
        }
        DenseMatrix { rows: 1 + usize::from(self.squares.is_some()), cols: self.dim() + 1, data }
    }

    /// Adds a frame. Products are rounded to single precision, as the reference's.
    ///
    /// # Panics
    /// If the frame has another dimension.
    pub(crate) fn add_frame(&mut self, frame: &[f32], weight: f32) {
        assert_eq!(frame.len(), self.dim(), "frames of one dimension");
        self.count += f64::from(weight);
        for (sum, &x) in self.sums.iter_mut().zip(frame) {
            *sum += f64::from(x * weight);
        }
        for (square, &x) in self.squares.iter_mut().flatten().zip(frame) {
            *square += f64::from(x * x * weight);
        }
    }

    /// Adds all frames, each with its weight if there are weights.
    pub fn add(&mut self, features: &DenseMatrix<f32>, weights: Option<&[f32]>) -> Result<()> {
        if features.cols != self.dim() && features.rows > 0 {
            return Err(Error::data(format!(
                "features have dimension {}, those before had {}",
                features.cols,
                self.dim()
            )));
        }
        if let Some(weights) = weights.filter(|weights| weights.len() != features.rows) {
            return Err(Error::data(format!("{} weights for {} frames", weights.len(), features.rows)));
        }
        for t in 0..features.rows {
            let weight = weights.map_or(1.0, |weights| weights[t]);
            if weight != 0.0 {
                self.add_frame(features.row(t), weight);
            }
        }
        Ok(())
    }

    /// Adds other statistics, multiplied by `scale`.
    pub(crate) fn add_scaled(&mut self, other: &CmvnStats, scale: f64) {
        self.count += scale * other.count;
        let add = |to: &mut Vec<f64>, from: &[f64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += scale * from);
        };
        add(&mut self.sums, &other.sums);
        if let (Some(to), Some(from)) = (&mut self.squares, &other.squares) {
            add(to, from);
        }
    }

    /// Multiplies all sums and the count.
    pub fn scale(&mut self, factor: f64) {
        self.count *= factor;
        self.sums.iter_mut().chain(self.squares.iter_mut().flatten()).for_each(|sum| *sum *= factor);
    }

    /// Replaces the statistics of some dimensions by those of zero mean and unit variance, which leave features
    /// unchanged.
    pub fn skip(&mut self, dims: &[usize]) -> Result<()> {
        let (dim, count) = (self.dim(), self.count);
        let Some(squares) = &mut self.squares else {
            return Err(Error::data("dimensions can be skipped only if the statistics have variances"));
        };
        for &d in dims {
            if d >= dim {
                return Err(Error::data(format!(
                    "expected dimensions to skip below {dim}, as of the statistics, found {d}"
                )));
            }
            self.sums[d] = 0.0;
            squares[d] = count;
        }
        Ok(())
    }

    /// Returns means, and below them variances; `None` if the count is 0 or there are no squares.
    pub fn means_and_variances(&self) -> Option<DenseMatrix<f64>> {
        let squares = self.squares.as_ref().filter(|_| self.count > 0.0)?;
        let mut data: Vec<f64> = self.sums.iter().map(|sum| sum / self.count).collect();
        for (d, square) in squares.iter().enumerate() {
            data.push(square / self.count - data[d] * data[d]);
        }
        Some(DenseMatrix { rows: 2, cols: self.dim(), data })
    }

    /// The transform that brings frames with these statistics to zero mean and, if `variances`, unit variance. At least
    /// one frame must have been counted.
    pub fn normalization(&self, variances: bool) -> Result<Normalization> {
        self.check_count()?;
        if !variances {
            // The reference has this factor in single precision.
            let factor = f64::from((-1.0 / self.count) as f32);
            let offset = self.sums.iter().map(|sum| (factor * sum) as f32).collect();
            return Ok(Normalization { offset, scale: None, floored: Vec::new() });
        }
        let mut out = Normalization { scale: Some(Vec::new()), ..Normalization::default() };
        for (mean, deviation) in self.deviations(&mut out.floored)? {
            let scale = 1.0 / deviation;
            if scale.is_nan() || scale.is_infinite() {
                return Err(Error::data("a mean or variance is NaN or infinite"));
            }
            out.offset.push(-(mean * scale) as f32);
            out.scale.get_or_insert_default().push(scale as f32);
        }
        Ok(out)
    }

    /// The opposite: from zero mean and unit variance to these statistics.
    pub fn denormalization(&self, variances: bool) -> Result<Normalization> {
        self.check_count()?;
        let mut floored = Vec::new();
        if !variances {
            let offset = self.sums.iter().map(|sum| (sum / self.count) as f32).collect();
            return Ok(Normalization { offset, scale: None, floored });
        }
        let (offset, scale) = self
            .deviations(&mut floored)?
            .into_iter()
            .map(|(mean, deviation)| (mean as f32, deviation as f32))
            .unzip();
        Ok(Normalization { offset, scale: Some(scale), floored })
    }

    fn check_count(&self) -> Result<()> {
        // The reference's limit, also for weighted frames.
        if self.count >= 1.0 {
            return Ok(());
        }
        Err(Error::data(format!("insufficient statistics for normalisation: their count is {}", self.count)))
    }

    /// Mean and standard deviation of each dimension.
    fn deviations(&self, floored: &mut Vec<f64>) -> Result<Vec<(f64, f64)>> {
        let Some(squares) = &self.squares else {
            return Err(Error::data("variances are to be normalised, but the statistics have none"));
        };
        let pairs = self.sums.iter().zip(squares).map(|(sum, square)| {
            let mean = sum / self.count;
            let mut variance = square / self.count - mean * mean;
            if variance < VARIANCE_FLOOR {
                floored.push(variance);
                variance = VARIANCE_FLOOR;
            }
            (mean, variance.sqrt())
        });
        Ok(pairs.collect())
    }
}

/// x → x · scale + offset in each dimension.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Normalization {
    pub offset: Vec<f32>,
    /// Absent if only means are changed.
    pub scale: Option<Vec<f32>>,
    /// Variances that were so small that a floor was taken instead.
    pub floored: Vec<f64>,
}

impl Normalization {
    pub fn apply(&self, features: &mut DenseMatrix<f32>) -> Result<()> {
        if features.cols != self.offset.len() {
            return Err(Error::data(format!(
                "features have dimension {}, normalisation statistics {}",
                features.cols,
                self.offset.len()
            )));
        }
        features.data.chunks_exact_mut(features.cols.max(1)).for_each(|frame| self.apply_frame(frame));
        Ok(())
    }

    /// # Panics
    /// May if the frame has another dimension.
    pub(crate) fn apply_frame(&self, frame: &mut [f32]) {
        if let Some(scale) = &self.scale {
            frame.iter_mut().zip(scale).for_each(|(x, scale)| *x *= scale);
        }
        frame.iter_mut().zip(&self.offset).for_each(|(x, offset)| *x += offset);
    }
}

/// Returns the warning about a floored variance.
pub fn floor_warning(variance: f64) -> String {
    format!("Flooring cepstral variance from {variance:e} to {VARIANCE_FLOOR:e}")
}

/// Two channels of a conversation: at each frame the louder one (by its first dimension) counts fully, the other with
/// `quieter_weight`. Channels of different lengths are counted separately; then the result is `false`.
pub fn add_two_channels(
    features: [&DenseMatrix<f32>; 2],
    quieter_weight: f32,
    stats: &mut [CmvnStats; 2],
) -> Result<bool> {
    if features[0].cols != features[1].cols {
        let (first, second) = (features[0].cols, features[1].cols);
        return Err(Error::data(format!("one channel has dimension {first}, the other {second}")));
    }
    if features[0].rows != features[1].rows {
        for (stats, features) in stats.iter_mut().zip(features) {
            stats.add(features, None)?;
        }
        return Ok(false);
    }
    for t in 0..features[0].rows {
        let frames = features.map(|channel| channel.row(t));
        let louder = usize::from(frames[0][0] <= frames[1][0]);
        stats[louder].add_frame(frames[louder], 1.0);
        stats[1 - louder].add_frame(frames[1 - louder], quieter_weight);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, matrix};

    fn stats(features: &DenseMatrix<f32>) -> CmvnStats {
        let mut stats = CmvnStats::new(features.cols);
        stats.add(features, None).unwrap();
        stats
    }

    fn mean_and_variance(m: &DenseMatrix<f32>, d: usize) -> (f64, f64) {
        let column: Vec<f64> = (0..m.rows).map(|t| m.row(t)[d].into()).collect();
        let mean = column.iter().sum::<f64>() / m.rows as f64;
        (mean, column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / m.rows as f64)
    }

    #[test]
    fn normalised_features_have_zero_mean_and_unit_variance() {
        let features = matrix(50, 3, 1);
        let stats = stats(&features);
        for variances in [false, true] {
            let mut out = features.clone();
            stats.normalization(variances).unwrap().apply(&mut out).unwrap();
            for d in 0..3 {
                let (mean, variance) = mean_and_variance(&out, d);
                let expected = if variances { 1.0 } else { mean_and_variance(&features, d).1 };
                assert!(mean.abs() < 1e-6 && (variance - expected).abs() < 1e-5, "{mean} {variance}");
            }
            stats.denormalization(variances).unwrap().apply(&mut out).unwrap();
            let expected: Vec<f64> = features.data.iter().map(|&x| x.into()).collect();
            assert_close(&out.data, &expected, 1e-6);
        }
    }

    #[test]
    fn weights_are_repetitions() {
        let features = matrix(4, 2, 2);
        let mut weighted = CmvnStats::new(2);
        weighted.add(&features, Some(&[2.0, 0.0, 1.0, 3.0])).unwrap();
        let rows: Vec<&[f32]> = [0, 0, 2, 3, 3, 3].map(|t| features.row(t)).to_vec();
        let repeated = stats(&DenseMatrix::from_rows(&rows));
        assert_eq!(weighted.count, repeated.count);
        for (a, b) in weighted.to_matrix().data.iter().zip(&repeated.to_matrix().data) {
            assert!((a - b).abs() < 1e-6);
        }
        assert!(weighted.add(&features, Some(&[1.0])).unwrap_err().to_string().contains("1 weights for 4"));
        assert!(weighted.add(&matrix(1, 3, 1), None).unwrap_err().to_string().contains("dimension 3"));
    }

    #[test]
    fn files_and_skipped_dimensions() {
        let mut stats =
            CmvnStats::from_matrix(&DenseMatrix::from_rows(&[[4.0, 6.0, 2.0], [10.0, 20.0, 0.0]])).unwrap();
        assert_eq!((stats.count, stats.dim()), (2.0, 2));
        assert_eq!(stats.means_and_variances().unwrap().data, [2.0, 3.0, 1.0, 1.0]);
        stats.skip(&[1]).unwrap();
        assert_eq!(stats.to_matrix().data, [4.0, 0.0, 2.0, 10.0, 2.0, 0.0]);
        let normalization = stats.normalization(true).unwrap();
        assert_eq!(normalization.offset, [-2.0, 0.0]);
        assert_eq!(normalization.scale.as_deref(), Some(&[1.0, 1.0][..]));
        assert!(stats.skip(&[2]).is_err());
        assert!(CmvnStats::from_matrix(&DenseMatrix::new(3, 3)).is_err());
    }

    #[test]
    fn what_cannot_be_normalised() {
        let mut stats = CmvnStats::from_matrix(&DenseMatrix::from_rows(&[[4.0, 2.0]])).unwrap();
        assert!(stats.normalization(false).is_ok());
        assert!(stats.normalization(true).unwrap_err().to_string().contains("have none"));
        assert!(stats.normalization(false).unwrap().apply(&mut matrix(1, 2, 1)).is_err());
        stats.count = 0.5;
        assert!(stats.normalization(false).unwrap_err().to_string().contains("0.5"));
        let constant = CmvnStats { count: 2.0, sums: vec![2.0], squares: Some(vec![2.0]) };
        assert_eq!(constant.normalization(true).unwrap().floored, [0.0]);
    }

    #[test]
    fn the_louder_channel_counts() {
        let a = DenseMatrix::from_rows(&[[1.0f32, 5.0], [3.0, 5.0]]);
        let b = DenseMatrix::from_rows(&[[2.0f32, 7.0], [1.0, 7.0]]);
        let mut stats = [CmvnStats::new(2), CmvnStats::new(2)];
        assert!(add_two_channels([&a, &b], 0.5, &mut stats).unwrap());
        assert_eq!(stats[0].to_matrix().data, [3.5, 7.5, 1.5, 9.5, 37.5, 0.0]);
        assert_eq!(stats[1].to_matrix().data, [2.5, 10.5, 1.5, 4.5, 73.5, 0.0]);
        let longer = DenseMatrix::new(3, 2);
        assert!(!add_two_channels([&a, &longer], 0.5, &mut stats).unwrap());
        assert_eq!((stats[0].count, stats[1].count), (3.5, 4.5));
    }
}
