//! Log-likelihoods of frames by mixtures.
//!
//! The weighted log-density of a Gaussian at x is g + m·x − ½ v·x², with m the means over the variances, v the inverse
//! variances and g the constant. Sums have the order of the reference (see `products.rs`). So log-likelihoods agree to
//! the last bit, and so do decisions between paths of nearly equal cost.

use std::cell::RefCell;

use kaldi_io::DenseMatrix;
use kaldi_numerics::log_sums::{LEAST_TERM, log_sum_pruned};
use kaldi_simd::{Kernel, Simd};

use crate::error::{Error, Result};
use crate::gmm::DiagGmm;
use crate::model::AmDiagGmm;
use crate::products::{LANES, Order, add_columns, vectorized};
use crate::selection::{finite, softmax};

/// The largest number of frames that are computed at once. The parameters of a model are larger than a processor's fast
/// memory: they come once for all these frames.
const AHEAD: usize = 4;

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
        assert_eq!(frame.values.len(), self.dim(), "the dimension of the frame");
        out.clear();
        out.resize(self.num_gauss(), 0.0);
        vectorized(OfFrames { gmm: self, frames: &[(&frame.values, &frame.squares)], out });
    }

    /// Puts into `out` the posterior of each Gaussian at a frame, and returns the log-likelihood of the frame. Fails if
    /// that is not a finite number.
    pub fn posteriors(&self, frame: &Frame, out: &mut Vec<f32>) -> Result<f32> {
        self.component_log_likelihoods(frame, out);
        softmax(out)
    }
}

/// The log-likelihoods of a mixture's Gaussians at some frames.
struct OfFrames<'a> {
    gmm: &'a DiagGmm,
    /// Elements and their squares.
    frames: &'a [(&'a [f32], &'a [f32])],
    /// All Gaussians at the first frame, then at the next.
    out: &'a mut [f32],
}

impl Kernel for OfFrames<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let OfFrames { gmm, frames, out } = self;
        let count = gmm.num_gauss();
        let mut first = 0;
        for (means, inv_vars) in gmm.means_invvars.eights().zip(gmm.inv_vars.eights()) {
            of_panel::<S, _>(gmm, frames, first, (means, inv_vars), out);
            first += LANES;
        }
        if let (Some((first, means)), Some((_, inv_vars))) = (gmm.means_invvars.four(), gmm.inv_vars.four()) {
            of_panel::<S, _>(gmm, frames, first, (means, inv_vars), out);
        }
        for ((g, means), (_, inv_vars)) in gmm.means_invvars.rest().zip(gmm.inv_vars.rest()) {
            let order = Order::of_row(g, count);
            for (&(values, squares), out) in frames.iter().zip(out.chunks_exact_mut(count)) {
                let linear = order.add::<S>(gmm.gconsts[g], 1.0, means, values);
                out[g] = order.add::<S>(linear, -0.5, inv_vars, squares);
            }
        }
    }
}

/// Computes the log-likelihoods of the Gaussians from `first` on, whose means over variances and inverse variances are in
/// panels of columns.
#[inline(always)]
fn of_panel<S: Simd, const ROWS: usize>(
    gmm: &DiagGmm,
    frames: &[(&[f32], &[f32])],
    first: usize,
    (means, inv_vars): (&[[f32; ROWS]], &[[f32; ROWS]]),
    out: &mut [f32],
) {
    let gconsts: [f32; ROWS] = std::array::from_fn(|row| gmm.gconsts[first + row]);
    for (&(values, squares), out) in frames.iter().zip(out.chunks_exact_mut(gmm.num_gauss())) {
        let linear = add_columns::<S, ROWS>(gconsts, 1.0, means, values);
        out[first..first + ROWS].copy_from_slice(&add_columns::<S, ROWS>(linear, -0.5, inv_vars, squares));
    }
}

/// Log-likelihoods of an utterance by all pdfs of a model, computed on demand. A search asks for the frames one after the
/// other, and for a pdf often in frames that follow each other: these are computed together.
pub struct Likelihoods<'a> {
    model: &'a AmDiagGmm,
    num_frames: usize,
    /// Terms below the largest by more than this are left out.
    prune: f32,
    /// For each frame its elements, then their squares.
    frames: Vec<f32>,
    memory: RefCell<Memory>,
}

struct Memory {
    pdfs: Vec<Known>,
    /// The log-likelihoods of the Gaussians of one pdf.
    components: Vec<f32>,
}

/// The log-likelihoods of one pdf in some frames.
#[derive(Clone, Copy, Default)]
struct Known {
    first: usize,
    count: usize,
    values: [f32; AHEAD],
}

impl<'a> Likelihoods<'a> {
    /// Prepares an utterance. Fails if features have another dimension than the model, or are not finite.
    pub fn new(model: &'a AmDiagGmm, features: &DenseMatrix<f32>) -> Result<Likelihoods<'a>> {
        model.check_features(features)?;
        let mut frames = Vec::with_capacity(2 * features.data.len());
        for t in 0..features.rows {
            let row = features.row(t);
            frames.extend_from_slice(row);
            frames.extend(row.iter().map(|x| x * x));
            let squares = &frames[frames.len() - row.len()..];
            if let Some(d) = squares.iter().position(|square| !square.is_finite()) {
                let x = row[d];
                return Err(Error::data(format!(
                    "frame {t} of the features has element {x} in dimension {d}"
                )));
            }
        }
        let memory = Memory { pdfs: vec![Known::default(); model.pdfs().len()], components: Vec::new() };
        let memory = RefCell::new(memory);
        Ok(Likelihoods { model, num_frames: features.rows, prune: LEAST_TERM, frames, memory })
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
        let known = &mut pdfs[pdf];
        let place = frame.wrapping_sub(known.first);
        if place < known.count {
            return known.values[place];
        }
        // A pdf that was needed in the frames before will be needed in those that follow.
        let wanted = if place == known.count && place > 0 { 2 * place } else { 1 };
        let count = wanted.min(AHEAD).min(self.num_frames - frame);
        self.compute(frame, &self.model.pdfs()[pdf], &mut known.values[..count], components);
        (known.first, known.count) = (frame, count);
        known.values[0]
    }

    /// Computes the log-likelihoods of some frames, at most [`AHEAD`].
    fn compute(&self, first: usize, pdf: &DiagGmm, out: &mut [f32], components: &mut Vec<f32>) {
        let dim = self.model.dim();
        let mut frames: [(&[f32], &[f32]); AHEAD] = Default::default();
        for (frame, both) in
            frames.iter_mut().zip(self.frames[2 * dim * first..].chunks_exact(2 * dim.max(1)))
        {
            *frame = both.split_at(dim);
        }
        let frames = &frames[..out.len()];
        components.clear();
        components.resize(frames.len() * pdf.num_gauss(), 0.0);
        vectorized(OfFrames { gmm: pdf, frames, out: components });
        for (out, components) in out.iter_mut().zip(components.chunks_exact(pdf.num_gauss())) {
            *out = log_sum_pruned(components, self.prune);
        }
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
            let terms = frame.iter().zip(&mean).zip(gmm.inv_vars().row(g)).map(|((&x, &mean), inv_var)| {
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
