//! Log-likelihoods of frames by mixtures.
//!
//! The weighted log-density of a Gaussian at x is g + m·x − ½ v·x², with m the means over the variances, v the inverse
//! variances and g the constant. Sums have the order of the reference (see `products.rs`). So log-likelihoods agree to
//! the last bit, and so do decisions between paths of nearly equal cost.

use std::cell::RefCell;

use kaldi_io::DenseMatrix;

use crate::error::{Error, Result};
use crate::gmm::DiagGmm;
use crate::model::AmDiagGmm;
use crate::products::{BLOCK, Fused, Order, Work, vectorized};
use crate::selection::{finite, softmax};

/// A first frame that no block has: no frame is less than a block after it.
const NO_BLOCK: usize = usize::MAX / 2;

/// Terms that are below the largest by more than this, −ln of the precision of `f32`, do not count in a sum of exponentials.
pub const LEAST_TERM: f32 = 15.942_385;

/// A frame and its squares, in memory that is used again for the next frame.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    values: Vec<f32>,
    squares: Vec<f32>,
}

impl Frame {
    /// Takes the elements of another frame.
    pub fn set(&mut self, values: &[f32]) {
        self.values.clear();
        self.values.extend_from_slice(values);
        self.squares.clear();
        self.squares.extend(values.iter().map(|x| x * x));
    }

    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

impl DiagGmm {
    /// Puts into `out` the log-likelihood of each Gaussian, its weight included, at a frame of [`dim`](Self::dim) elements.
    pub fn component_log_likelihoods(&self, frame: &Frame, out: &mut Vec<f32>) {
        out.clear();
        vectorized(OfFrame { gmm: self, frame, out });
    }

    /// Puts into `out` the posterior of each Gaussian at a frame, and returns the log-likelihood of the frame. Fails if
    /// that is not a finite number.
    pub fn posteriors(&self, frame: &Frame, out: &mut Vec<f32>) -> Result<f32> {
        self.component_log_likelihoods(frame, out);
        softmax(out)
    }
}

/// The log-likelihoods of a mixture's Gaussians at a frame.
struct OfFrame<'a> {
    gmm: &'a DiagGmm,
    frame: &'a Frame,
    out: &'a mut Vec<f32>,
}

impl Work for OfFrame<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Fused>(self) {
        let OfFrame { gmm, frame, out } = self;
        let count = gmm.num_gauss();
        for g in 0..count {
            let order = Order::of_row(g, count);
            let linear = order.add::<F>(gmm.gconsts[g], 1.0, gmm.means_invvars.row(g), &frame.values);
            out.push(order.add::<F>(linear, -0.5, gmm.inv_vars.row(g), &frame.squares));
        }
    }
}

/// The log-likelihoods of a mixture's Gaussians at the frames of a block. `block` returns the elements of a dimension, and
/// after all dimensions their squares.
struct OfBlock<'a, B> {
    gmm: &'a DiagGmm,
    block: B,
    out: &'a mut [[f32; BLOCK]],
}

impl<'x, B: Fn(usize) -> &'x [f32; BLOCK]> Work for OfBlock<'_, B> {
    type Output = ();

    #[inline(always)]
    fn run<F: Fused>(self) {
        let OfBlock { gmm, block, out } = self;
        let (count, dim) = (out.len(), gmm.dim());
        for (g, out) in out.iter_mut().enumerate() {
            let order = Order::of_row(g, count);
            let start = [gmm.gconsts[g]; BLOCK];
            let linear = order.add_block::<F>(start, 1.0, gmm.means_invvars.row(g), &block);
            *out = order.add_block::<F>(linear, -0.5, gmm.inv_vars.row(g), |d| block(dim + d));
        }
    }
}

/// The logarithm of the sum of the exponentials of values; those below the largest by more than `prune` are left out.
pub(crate) fn log_sum_exp(values: impl Iterator<Item = f32> + Clone, prune: f32) -> f32 {
    let max = values.clone().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 =
        values.filter(|value| *value >= max - prune).map(|value| f64::from((value - max).exp())).sum();
    (f64::from(max) + sum.ln()) as f32
}

/// Log-likelihoods of an utterance by all pdfs of a model, computed on demand.
///
/// A pdf that is needed at a frame is likely to be needed at the next ones. So it is computed for a few frames at a
/// time, as a product of its Gaussians with these frames.
pub struct Likelihoods<'a> {
    model: &'a AmDiagGmm,
    num_frames: usize,
    /// Terms below the largest by more than this are left out.
    prune: f32,
    /// A row for each dimension and then one for each square: the element of each frame. Zeros follow the last frame.
    columns: DenseMatrix<f32>,
    /// Index of the first Gaussian of each pdf among all Gaussians.
    offsets: Vec<usize>,
    memory: RefCell<Memory>,
}

struct Memory {
    pdfs: Vec<OfPdf>,
    /// The log-likelihoods of all Gaussians, each for the frames of its pdf's block.
    components: Vec<[f32; BLOCK]>,
}

#[derive(Clone, Copy)]
struct OfPdf {
    /// The first frame of the block; [`NO_BLOCK`] before there is one.
    first: usize,
    /// Log-likelihoods of the requested frames; NaN for the others.
    values: [f32; BLOCK],
}

impl<'a> Likelihoods<'a> {
    /// Prepares an utterance. Fails if features have another dimension than the model, or are not finite.
    pub fn new(model: &'a AmDiagGmm, features: &DenseMatrix<f32>) -> Result<Likelihoods<'a>> {
        model.check_features(features)?;
        let (rows, dim) = (features.rows, features.cols);
        let mut columns = DenseMatrix::new(2 * dim, rows + BLOCK);
        let width = columns.cols;
        for t in 0..rows {
            for (d, &x) in features.row(t).iter().enumerate() {
                let square = x * x;
                if !square.is_finite() {
                    return Err(Error::data(format!(
                        "frame {t} of the features has element {x} in dimension {d}"
                    )));
                }
                columns.data[d * width + t] = x;
                columns.data[(dim + d) * width + t] = square;
            }
        }
        let mut offsets = vec![0];
        for pdf in model.pdfs() {
            offsets.push(offsets[offsets.len() - 1] + pdf.num_gauss());
        }
        let memory = Memory {
            pdfs: vec![OfPdf { first: NO_BLOCK, values: [f32::NAN; BLOCK] }; model.pdfs().len()],
            components: vec![[0.0; BLOCK]; model.num_gauss()],
        };
        let memory = RefCell::new(memory);
        Ok(Likelihoods { model, num_frames: rows, prune: LEAST_TERM, columns, offsets, memory })
    }

    /// Leaves out more terms of sums: those below the largest by more than `prune`, if that is between 0 and
    /// [`LEAST_TERM`].
    pub fn pruned(self, prune: f32) -> Likelihoods<'a> {
        let prune = if prune > 0.0 { prune.min(LEAST_TERM) } else { LEAST_TERM };
        Likelihoods { prune, ..self }
    }

    pub fn num_frames(&self) -> usize {
        self.num_frames
    }

    /// The log-likelihood of a frame by a pdf.
    ///
    /// # Panics
    /// If the frame is not below [`num_frames`](Self::num_frames), or the model has no such pdf.
    pub fn get(&self, frame: usize, pdf: usize) -> f32 {
        assert!(frame < self.num_frames, "frame {frame} of {}", self.num_frames);
        let Memory { pdfs, components } = &mut *self.memory.borrow_mut();
        let components = &mut components[self.offsets[pdf]..self.offsets[pdf + 1]];
        let of_pdf = &mut pdfs[pdf];
        let mut lane = frame.wrapping_sub(of_pdf.first);
        if lane >= BLOCK {
            self.compute(frame, &self.model.pdfs()[pdf], components);
            *of_pdf = OfPdf { first: frame, values: [f32::NAN; BLOCK] };
            lane = 0;
        }
        let value = &mut of_pdf.values[lane];
        if value.is_nan() {
            *value = log_sum_exp(components.iter().map(|component| component[lane]), self.prune);
        }
        *value
    }

    /// Computes a pdf's Gaussians for a block of frames.
    fn compute(&self, first: usize, pdf: &DiagGmm, out: &mut [[f32; BLOCK]]) {
        let width = self.columns.cols;
        let block = |row: usize| -> &[f32; BLOCK] {
            let start = row * width + first;
            self.columns.data[start..start + BLOCK].first_chunk().expect("a block of frames")
        };
        vectorized(OfBlock { gmm: pdf, block, out });
    }

    /// Computes all log-likelihoods: a row for each frame, a column for each pdf. Fails if one is not finite.
    pub fn matrix(&self) -> Result<DenseMatrix<f32>> {
        let pdfs = self.model.pdfs().len();
        let mut out = DenseMatrix::new(self.num_frames, if self.num_frames == 0 { 0 } else { pdfs });
        for frame in 0..self.num_frames {
            for pdf in 0..pdfs {
                out.row_mut(frame)[pdf] = finite(self.get(frame, pdf))?;
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing_models::{features, model};

    /// The definition, in double precision.
    fn slow(gmm: &DiagGmm, frame: &[f32]) -> f64 {
        let density = |g: usize| {
            let mean = gmm.mean(g);
            let terms = frame.iter().zip(&mean).zip(gmm.inv_vars().row(g)).map(|((&x, &mean), &inv_var)| {
                let (difference, inv_var) = (f64::from(x) - f64::from(mean), f64::from(inv_var));
                (inv_var / (2.0 * std::f64::consts::PI)).sqrt()
                    * (-0.5 * inv_var * difference * difference).exp()
            });
            f64::from(gmm.weights()[g]) * terms.product::<f64>()
        };
        (0..gmm.num_gauss()).map(density).sum::<f64>().ln()
    }

    #[test]
    fn three_ways() {
        let (model, features) = (model(5, 3, 11, 1), features(21, 11, 2));
        let likelihoods = Likelihoods::new(&model, &features).unwrap();
        let matrix = Likelihoods::new(&model, &features).unwrap().matrix().unwrap();
        let (mut frame, mut posteriors) = (Frame::default(), Vec::new());
        for (t, pdf) in [(3, 1), (4, 1), (11, 1), (2, 1), (20, 4), (0, 0), (7, 2)] {
            let expected = slow(&model.pdfs()[pdf], features.row(t)) as f32;
            frame.set(features.row(t));
            let total = model.pdfs()[pdf].posteriors(&frame, &mut posteriors).unwrap();
            for value in [likelihoods.get(t, pdf), matrix.row(t)[pdf], total] {
                assert!((value - expected).abs() < 1e-4 * expected.abs(), "{value} for {expected}");
            }
            assert!((posteriors.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn pruning_leaves_out_small_terms() {
        let (model, features) = (model(1, 4, 3, 3), features(5, 3, 4));
        let pruned = Likelihoods::new(&model, &features).unwrap().pruned(1e-6);
        let (mut frame, mut components) = (Frame::default(), Vec::new());
        frame.set(features.row(2));
        model.pdfs()[0].component_log_likelihoods(&frame, &mut components);
        let max = components.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        assert!((pruned.get(2, 0) - max).abs() < 1e-5 * max.abs(), "{} {max}", pruned.get(2, 0));
    }

    #[test]
    fn bad_features() {
        let model = model(1, 1, 3, 5);
        let error =
            |features| Likelihoods::new(&model, &features).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error(DenseMatrix::new(1, 2)).contains("data dim = 2 vs. model dim = 3"));
        let mut with_nan = DenseMatrix::new(2, 3);
        with_nan.data[4] = f32::NAN;
        assert!(error(with_nan).contains("frame 1 of the features"));
    }
}
