//! A system of Gaussians as layers of a network, so that all that runs networks runs it.
//!
//! A layer makes the model's features of a few frames of cepstra, a second one the logarithm of each Gaussian's weighted density from a
//! feature and its square. A pdf's output is that of its best Gaussian, where the model has the sum of all; that is less by at most the
//! logarithm of their number.

use kaldi_gmm::AmDiagGmm;
use kaldi_io::DenseMatrix;

use crate::error::{Error, Result};
use crate::features::{FeatureKind, Normalized};
use crate::system::System;

/// The affine layer that makes a model's features of cepstra.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureLayer {
    /// The coefficients of a frame of cepstra.
    pub cepstra: usize,
    /// Frames before and after a frame that its features are made of.
    pub left: usize,
    pub right: usize,
    /// A row for each feature, a column for each coefficient of the frames side by side, and a last one for the offset.
    pub matrix: DenseMatrix<f32>,
}

/// Affine layers; the last column of each matrix is the offset.
#[derive(Debug, Clone, PartialEq)]
pub struct Layers {
    pub features: FeatureLayer,
    /// Scaled logarithms of densities, of features and then their squares. `per_pdf` rows for each pdf.
    pub gaussians: DenseMatrix<f32>,
    /// The number of Gaussians of the largest pdf. Smaller ones have rows for Gaussians that are never the best.
    pub per_pdf: usize,
}

/// The logarithm of the density of a Gaussian that is not there.
const NOWHERE: f32 = -1e10;

impl System {
    /// Makes layers whose outputs are the logarithms of densities times a scale.
    ///
    /// # Errors
    /// The system is for features that are normalised, or transformed for each speaker: a network sees neither.
    pub fn layers(&self, scale: f32) -> Result<Layers> {
        if self.normalized != Normalized::Nothing {
            return Err(Error::data(
                "the model is for cepstra that are normalised for each speaker: expected one that was trained without",
            ));
        }
        if self.independent.is_some() {
            return Err(Error::data(
                "the model is for features that are transformed for each speaker: expected one without SAT",
            ));
        }
        let (per_pdf, gaussians) = densities(&self.model.gmms, scale);
        Ok(Layers { features: self.feature_layer()?, gaussians, per_pdf })
    }

    /// The layer of the model's features before any transform of a speaker.
    ///
    /// # Errors
    /// Matrices do not fit.
    pub fn feature_layer(&self) -> Result<FeatureLayer> {
        let (left, right, cepstra) = match &self.features {
            FeatureKind::Deltas { order, window } => {
                let reach = (order * window) as usize;
                (reach, reach, self.model.gmms.dim() / (*order as usize + 1))
            }
            FeatureKind::Spliced { left, right, lda } => (*left, *right, lda.cols / (left + 1 + right)),
        };
        Ok(FeatureLayer { cepstra, left, right, matrix: self.features.matrix(left, right, cepstra)? })
    }
}

impl FeatureLayer {
    /// Makes the layer subtract a mean from cepstra first.
    ///
    /// # Errors
    /// The mean has another dimension.
    pub fn subtract(&mut self, mean: &[f32]) -> Result<()> {
        if mean.len() != self.cepstra {
            return Err(Error::data(format!(
                "the mean has dimension {}: expected {}",
                mean.len(),
                self.cepstra
            )));
        }
        for row in self.matrix.data.chunks_exact_mut(self.matrix.cols) {
            let Some((offset, linear)) = row.split_last_mut() else { continue };
            *offset -= linear.iter().zip(mean.iter().cycle()).map(|(a, x)| a * x).sum::<f32>();
        }
        Ok(())
    }

    /// Makes the layer read frames of which its cepstra are only the first coefficients.
    ///
    /// # Errors
    /// Frames have fewer coefficients than the layer needs.
    pub fn widen(&mut self, coefficients: usize) -> Result<()> {
        if coefficients < self.cepstra {
            return Err(Error::data(format!(
                "frames have {coefficients} coefficients, but the model needs the first {}",
                self.cepstra
            )));
        }
        let frames = self.left + 1 + self.right;
        let mut matrix = DenseMatrix::new(self.matrix.rows, frames * coefficients + 1);
        for r in 0..matrix.rows {
            let (from, to) = (self.matrix.row(r), matrix.row_mut(r));
            for (from, to) in from[..frames * self.cepstra]
                .chunks_exact(self.cepstra)
                .zip(to.chunks_exact_mut(coefficients))
            {
                to[..self.cepstra].copy_from_slice(from);
            }
            to[frames * coefficients] = from[frames * self.cepstra];
        }
        self.matrix = matrix;
        self.cepstra = coefficients;
        Ok(())
    }

    /// Makes the layer apply a linear or affine transform to features at the end, as `transform-feats` does.
    ///
    /// # Errors
    /// The transform has another dimension.
    pub fn then(&mut self, transform: &DenseMatrix<f32>) -> Result<()> {
        let dim = self.matrix.rows;
        if transform.cols != dim && transform.cols != dim + 1 {
            return Err(Error::data(format!(
                "a transform of {} columns cannot be applied to features of dimension {dim}",
                transform.cols
            )));
        }
        let mut matrix = DenseMatrix::new(transform.rows, self.matrix.cols);
        for r in 0..transform.rows {
            let (factors, offset) = transform.row(r).split_at(dim);
            let out = matrix.row_mut(r);
            for (d, factor) in factors.iter().enumerate() {
                out.iter_mut().zip(self.matrix.row(d)).for_each(|(x, y)| *x += factor * y);
            }
            if let (Some(x), [offset]) = (out.last_mut(), offset) {
                *x += offset;
            }
        }
        self.matrix = matrix;
        Ok(())
    }
}

impl FeatureKind {
    /// The matrix, with an offset in the last column, that makes a frame's features of the cepstra of the frames around it.
    fn matrix(&self, left: usize, right: usize, cepstra: usize) -> Result<DenseMatrix<f32>> {
        let frames = left + 1 + right;
        let inputs = frames * cepstra;
        let silent = DenseMatrix::new(frames, cepstra);
        let offset = self.apply(&silent)?;
        let mut matrix = DenseMatrix::new(offset.cols, inputs + 1);
        // (Features are affine in the cepstra: an input of 1 shows its column.)
        for input in 0..inputs {
            let mut one = silent.clone();
            one.data[input] = 1.0;
            for (row, x) in self.apply(&one)?.row(left).iter().enumerate() {
                matrix.row_mut(row)[input] = x - offset.row(left)[row];
            }
        }
        for (row, x) in offset.row(left).iter().enumerate() {
            matrix.row_mut(row)[inputs] = *x;
        }
        Ok(matrix)
    }
}

fn densities(model: &AmDiagGmm, scale: f32) -> (usize, DenseMatrix<f32>) {
    let dim = model.dim();
    let per_pdf = model.pdfs().iter().map(|pdf| pdf.num_gauss()).max().unwrap_or(0);
    let mut matrix = DenseMatrix::new(model.pdfs().len() * per_pdf, 2 * dim + 1);
    for (pdf, gmm) in model.pdfs().iter().enumerate() {
        for g in 0..per_pdf {
            let row = matrix.row_mut(pdf * per_pdf + g);
            if g >= gmm.num_gauss() {
                row[2 * dim] = NOWHERE;
                continue;
            }
            let factors = gmm.means_invvars().row(g).chain(gmm.inv_vars().row(g).map(|x| -0.5 * x));
            for (out, x) in row.iter_mut().zip(factors.chain([gmm.gconsts()[g]])) {
                *out = scale * x;
            }
        }
    }
    (per_pdf, matrix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_gmm::DiagGmm;

    fn noise(seed: &mut u32) -> f32 {
        *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (*seed >> 8) as f32 / 8_388_608.0 - 1.0
    }

    fn random(rows: usize, cols: usize, seed: u32) -> DenseMatrix<f32> {
        let mut seed = seed;
        DenseMatrix { rows, cols, data: (0..rows * cols).map(|_| noise(&mut seed)).collect() }
    }

    fn affine(matrix: &DenseMatrix<f32>, input: &[f32]) -> Vec<f32> {
        let row = |r: usize| {
            let (offset, linear) = matrix.row(r).split_last().unwrap();
            offset + linear.iter().zip(input).map(|(a, x)| a * x).sum::<f32>()
        };
        (0..matrix.rows).map(row).collect()
    }

    #[test]
    fn features_of_side_by_side_frames_are_those_of_the_front() {
        let cepstra = random(20, 3, 1);
        let lda = random(5, 3 * 4 + 1, 2);
        for (kind, left, right) in [
            (FeatureKind::default(), 4, 4),
            (FeatureKind::Deltas { order: 1, window: 3 }, 3, 3),
            (FeatureKind::Spliced { left: 2, right: 1, lda }, 2, 1),
        ] {
            let expected = kind.apply(&cepstra).unwrap();
            let matrix = kind.matrix(left, right, 3).unwrap();
            for frame in left..20 - right {
                let input = &cepstra.data[(frame - left) * 3..(frame + right + 1) * 3];
                for (x, y) in affine(&matrix, input).iter().zip(expected.row(frame)) {
                    assert!((x - y).abs() < 1e-5, "{x} for {y}");
                }
            }
        }
    }

    #[test]
    fn a_mean_and_a_transform_of_a_layer_are_those_of_the_features() {
        let kind = FeatureKind::default();
        let (cepstra, mean) = (random(9, 2, 3), [0.5, -2.0]);
        let transform = random(6, 7, 4);
        let mut layer = FeatureLayer { cepstra: 2, left: 4, right: 4, matrix: kind.matrix(4, 4, 2).unwrap() };
        layer.subtract(&mean).unwrap();
        layer.then(&transform).unwrap();
        let mut centred = cepstra.clone();
        centred.data.iter_mut().zip(mean.iter().cycle()).for_each(|(x, mean)| *x -= mean);
        let expected = kaldi_feat::transform::apply(&kind.apply(&centred).unwrap(), &transform).unwrap();
        for (x, y) in affine(&layer.matrix, &cepstra.data).iter().zip(expected.row(4)) {
            assert!((x - y).abs() < 1e-4, "{x} for {y}");
        }
        layer.widen(3).unwrap();
        let wide: Vec<f32> = cepstra.data.chunks(2).flat_map(|frame| [frame[0], frame[1], 9.0]).collect();
        for (x, y) in affine(&layer.matrix, &wide).iter().zip(expected.row(4)) {
            assert!((x - y).abs() < 1e-4, "{x} for {y}");
        }
        assert!(layer.widen(2).is_err());
        assert!(layer.subtract(&[1.0]).is_err() && layer.then(&random(6, 3, 1)).is_err());
    }

    #[test]
    fn densities_are_those_of_the_mixtures() {
        let gmm = |count: usize, seed: u32| {
            let mut inv_vars = random(count, 4, seed + 1);
            inv_vars.data.iter_mut().for_each(|x| *x += 1.5);
            let weights = vec![1.0 / count as f32; count];
            DiagGmm::new(weights, random(count, 4, seed), inv_vars).unwrap()
        };
        let model = AmDiagGmm::new(vec![gmm(1, 5), gmm(3, 9)]).unwrap();
        let (per_pdf, matrix) = densities(&model, 0.5);
        assert_eq!((per_pdf, matrix.rows), (3, 6));
        let frames = random(10, 4, 30);
        let likelihoods = kaldi_gmm::Likelihoods::new(&model, &frames).unwrap();
        for frame in 0..10 {
            let x = frames.row(frame);
            let input: Vec<f32> = x.iter().copied().chain(x.iter().map(|x| x * x)).collect();
            let out = affine(&matrix, &input);
            assert!((out[0] / 0.5 - likelihoods.get(frame, 0)).abs() < 1e-4 && out[1].max(out[2]) < -1e9);
            let sum = out[3..].iter().map(|x| (x / 0.5).exp()).sum::<f32>().ln();
            assert!((sum - likelihoods.get(frame, 1)).abs() < 1e-4);
        }
    }
}
