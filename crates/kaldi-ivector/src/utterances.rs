//! Statistics of a block of utterances, and the i-vectors of all of them by a few matrix products.
//!
//! An utterance has γ_g = Σ p and F_g = Σ p x for each Gaussian g, over frames x with posteriors p. Its i-vector has the
//! precision Q = I + Σ γ_g M_gᵀΣ_g⁻¹M_g and the mean Q⁻¹ l with l = (o, 0, …) + Σ M_gᵀΣ_g⁻¹ F_g. For a block both sums are
//! products: counts × packed quadratic terms, and first-order statistics × linear terms.

use std::num::NonZero;
use std::ops::Range;

use kaldi_io::{DenseMatrix, Posterior, SymmetricMatrix};
use kaldi_numerics::triangle;

use crate::error::{Error, Result};
use crate::parallel::{self, ranges};
use crate::products::{Rows, add_product};
use crate::terms::IvectorTerms;

/// Bytes of statistics after which a block is full, unless it has fewer than [`FEWEST`] utterances.
const ROOM: usize = 24 << 20;
/// Bytes of frames after which a block is full.
const ROOM_FOR_FRAMES: usize = 8 << 20;
const FEWEST: usize = 8;
const MOST: usize = 64;

/// Statistics of several utterances, or of several speakers.
#[derive(Debug)]
pub struct Block {
    num_gauss: usize,
    feature_dim: usize,
    capacity: usize,
    keys: Vec<String>,
    /// γ: utterances × Gaussians.
    counts: Vec<f64>,
    /// F: utterances × (Gaussians · feature dimension).
    sums: Vec<f64>,
    /// Frames with posteriors, if they are kept for second-order statistics.
    frames: Option<Frames>,
}

/// Frames, and the posteriors of Gaussians for them.
#[derive(Debug, Default)]
struct Frames {
    /// Frames with posteriors, one after another.
    data: Vec<f32>,
    entries: Vec<Entry>,
}

/// A Gaussian's posterior for a frame.
#[derive(Debug, Clone, Copy)]
struct Entry {
    gaussian: u32,
    utterance: u32,
    /// Place in [`Frames::data`].
    frame: usize,
    posterior: f32,
}

impl Block {
    /// Makes an empty block. With `frames`, it keeps frames for second-order statistics.
    pub fn new(terms: &IvectorTerms, frames: bool) -> Block {
        let (num_gauss, feature_dim) = (terms.num_gauss(), terms.feature_dim());
        let numbers = num_gauss * (1 + feature_dim) + 2 * triangle::len(terms.ivector_dim());
        Block {
            num_gauss,
            feature_dim,
            capacity: (ROOM / (8 * numbers)).clamp(FEWEST, MOST),
            keys: Vec::new(),
            counts: Vec::new(),
            sums: Vec::new(),
            frames: frames.then(Frames::default),
        }
    }

    /// True if its i-vectors should be estimated before more utterances come.
    pub fn is_full(&self) -> bool {
        let room = self.frames.as_ref().is_none_or(|frames| frames.data.len() * 4 < ROOM_FOR_FRAMES);
        self.keys.len() >= self.capacity || !room
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Names of the utterances, in order.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Begins an utterance without frames.
    pub fn begin(&mut self, key: &str) {
        self.keys.push(key.to_owned());
        self.counts.resize(self.keys.len() * self.num_gauss, 0.0);
        self.sums.resize(self.keys.len() * self.num_gauss * self.feature_dim, 0.0);
    }

    /// Adds frames to the utterance that was begun last. `posterior` has a list of Gaussians for each frame.
    ///
    /// # Errors
    /// If features or posteriors do not fit the model; nothing is added then.
    ///
    /// # Panics
    /// If no utterance was begun.
    pub fn add(&mut self, features: &DenseMatrix<f32>, posterior: &Posterior) -> Result<()> {
        check(features, posterior, self.num_gauss, self.feature_dim)?;
        let last = self.keys.len() - 1;
        let dim = self.feature_dim;
        let counts = &mut self.counts[last * self.num_gauss..];
        let sums = &mut self.sums[last * self.num_gauss * dim..];
        for (t, frame) in posterior.iter().enumerate().filter(|(_, frame)| !frame.is_empty()) {
            let x = features.row(t);
            for &(g, p) in frame {
                let (g, p) = (g as usize, f64::from(p));
                counts[g] += p;
                let sums = sums[g * dim..(g + 1) * dim].iter_mut().zip(x);
                sums.for_each(|(sum, &x)| *sum += p * f64::from(x));
            }
            if let Some(frames) = &mut self.frames {
                let place = frames.data.len();
                frames.data.extend_from_slice(x);
                frames.entries.extend(frame.iter().map(|&(g, posterior)| Entry {
                    gaussian: g as u32,
                    utterance: last as u32,
                    frame: place,
                    posterior,
                }));
            }
        }
        Ok(())
    }

    /// γ of an utterance.
    pub fn counts(&self, utterance: usize) -> &[f64] {
        &self.counts[utterance * self.num_gauss..(utterance + 1) * self.num_gauss]
    }

    /// The sum of the posteriors of the utterance that was begun last; 0 if none was.
    pub fn last_count(&self) -> f64 {
        self.keys.len().checked_sub(1).map_or(0.0, |last| self.counts(last).iter().sum())
    }

    /// Scales the statistics of the utterance that was begun last. Kept frames are not scaled.
    pub fn scale_last(&mut self, factor: f64) {
        if let Some(last) = self.keys.len().checked_sub(1) {
            let (counts, sums) = (last * self.num_gauss, last * self.num_gauss * self.feature_dim);
            self.counts[counts..].iter_mut().chain(&mut self.sums[sums..]).for_each(|x| *x *= factor);
        }
    }

    /// Takes the utterance that was begun last out again.
    pub fn drop_last(&mut self) {
        self.keys.pop();
        self.counts.truncate(self.keys.len() * self.num_gauss);
        self.sums.truncate(self.keys.len() * self.num_gauss * self.feature_dim);
        if let Some(frames) = &mut self.frames {
            let last = self.keys.len() as u32;
            let kept = frames.entries.partition_point(|entry| entry.utterance < last);
            frames.entries.truncate(kept);
            frames.data.truncate(frames.entries.last().map_or(0, |entry| entry.frame + self.feature_dim));
        }
    }

    /// Sets the statistics of an utterance to 0.
    pub(crate) fn forget(&mut self, utterance: usize) {
        let (count, dim) = (self.num_gauss, self.feature_dim);
        self.counts[utterance * count..(utterance + 1) * count].fill(0.0);
        self.sums[utterance * count * dim..(utterance + 1) * count * dim].fill(0.0);
        if let Some(frames) = &mut self.frames {
            frames.entries.retain(|entry| entry.utterance as usize != utterance);
        }
    }

    /// Empties the block.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.counts.clear();
        self.sums.clear();
        if let Some(frames) = &mut self.frames {
            frames.data.clear();
            frames.entries.clear();
        }
    }

    /// Sorts the kept posteriors by Gaussian, and by utterance and frame within one.
    pub(crate) fn sort_frames(&mut self) {
        if let Some(frames) = &mut self.frames {
            frames.entries.sort_by_key(|entry| entry.gaussian);
        }
    }

    /// Adds Σ p xxᵀ over the kept frames x to the lower triangle of each Gaussian of a range. Posteriors must be sorted.
    pub(crate) fn add_scatter(&self, gaussians: &Range<usize>, scatter: &mut [f64]) {
        let Some(frames) = &self.frames else { return };
        let place = |g: usize| frames.entries.partition_point(|entry| (entry.gaussian as usize) < g);
        let (dim, entries) =
            (self.feature_dim, &frames.entries[place(gaussians.start)..place(gaussians.end)]);
        let (mut plain, mut weighted) = (Vec::new(), Vec::new());
        for of_gaussian in entries.chunk_by(|a, b| a.gaussian == b.gaussian) {
            plain.clear();
            weighted.clear();
            for entry in of_gaussian {
                let x = frames.data[entry.frame..entry.frame + dim].iter().map(|&x| f64::from(x));
                plain.extend(x.clone());
                weighted.extend(x.map(|x| f64::from(entry.posterior) * x));
            }
            let mut sum = nalgebra::DMatrix::zeros(dim, dim);
            let rows = |data| Rows::new(data, of_gaussian.len(), dim);
            add_product(sum.as_mut_slice(), rows(&weighted).transposed(), rows(&plain));
            let at = (of_gaussian[0].gaussian as usize - gaussians.start) * triangle::len(dim);
            triangle::add(&sum, &mut scatter[at..at + triangle::len(dim)]);
        }
    }

    /// Returns Σ F_gᵀ Σ_g⁻¹ F_g / γ_g over all utterances and the Gaussians of a range with γ_g ≠ 0.
    pub(crate) fn distances(&self, gaussians: &Range<usize>, inverses: &[SymmetricMatrix<f64>]) -> f64 {
        let (utterances, dim) = (self.keys.len(), self.feature_dim);
        let mut total = 0.0;
        for g in gaussians.clone() {
            let inverse = triangle::unpack(&inverses[g].data, dim);
            let sums = self.all_sums(&(g..g + 1));
            let mut products = vec![0.0; utterances * dim];
            add_product(&mut products, sums.plain(), Rows::new(inverse.as_slice(), dim, dim));
            for (utterance, product) in products.chunks_exact(dim).enumerate() {
                let count = self.counts(utterance)[g];
                if count != 0.0 {
                    total += sums.row(utterance).iter().zip(product).map(|(x, y)| x * y).sum::<f64>() / count;
                }
            }
        }
        total
    }

    /// γ: utterances × Gaussians, of a range of these.
    pub(crate) fn all_counts(&self, gaussians: &Range<usize>) -> Rows<'_> {
        Rows::new(&self.counts, self.keys.len(), self.num_gauss).columns(gaussians)
    }

    /// F: utterances × (Gaussians · feature dimension), of a range of Gaussians.
    pub(crate) fn all_sums(&self, gaussians: &Range<usize>) -> Rows<'_> {
        let columns_of = gaussians.start * self.feature_dim..gaussians.end * self.feature_dim;
        Rows::new(&self.sums, self.keys.len(), self.num_gauss * self.feature_dim).columns(&columns_of)
    }

    /// The log-likelihood of each utterance as a function of its i-vector x, xᵀl − ½ xᵀQx, with the prior in it.
    pub(crate) fn objectives(&self, terms: &IvectorTerms, threads: NonZero<usize>) -> Objectives {
        let (utterances, dim) = (self.keys.len(), terms.ivector_dim());
        let mut linear = vec![0.0; utterances * dim];
        linear.iter_mut().step_by(dim).for_each(|x| *x = terms.prior_offset());
        // Parts are sums over ranges of Gaussians, and ranges of the triangle.
        let mut parts: Vec<Vec<f64>> = Vec::new();
        let gaussians = ranges(self.num_gauss);
        parts.resize_with(gaussians.len(), || vec![0.0; utterances * dim]);
        let tasks = parts.iter_mut().zip(&gaussians).collect();
        parallel::for_each(threads, tasks, |(out, range)| {
            let linear = Rows::new(terms.linear(range.clone()), range.len() * self.feature_dim, dim);
            add_product(out, self.all_sums(range).plain(), linear);
        });
        for part in parts {
            linear.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        }
        let triangle = triangle::len(dim);
        let mut quadratic: Vec<(Range<usize>, Vec<f64>)> = ranges(triangle)
            .into_iter()
            .map(|range| (range.clone(), vec![0.0; utterances * range.len()]))
            .collect();
        parallel::for_each(threads, quadratic.iter_mut().collect(), |(range, out)| {
            let all = 0..self.num_gauss;
            let quadratic = Rows::new(terms.quadratic(all.clone()), self.num_gauss, triangle);
            add_product(out, self.all_counts(&all).plain(), quadratic.columns(range));
        });
        Objectives { dim, linear, quadratic }
    }
}

/// Linear and quadratic terms of the objectives of utterances.
pub(crate) struct Objectives {
    dim: usize,
    linear: Vec<f64>,
    /// Ranges of the triangle, with a row for each utterance. The unit matrix of the prior is not in it.
    quadratic: Vec<(Range<usize>, Vec<f64>)>,
}

impl Objectives {
    /// l = (o, 0, …) + Σ M_gᵀΣ_g⁻¹ F_g.
    pub fn linear(&self, utterance: usize) -> &[f64] {
        &self.linear[utterance * self.dim..(utterance + 1) * self.dim]
    }

    /// Q − I = Σ γ_g M_gᵀΣ_g⁻¹M_g.
    pub fn data_precision(&self, utterance: usize) -> nalgebra::DMatrix<f64> {
        let mut triangle = Vec::with_capacity(triangle::len(self.dim));
        for (range, rows) in &self.quadratic {
            triangle.extend_from_slice(&rows[utterance * range.len()..(utterance + 1) * range.len()]);
        }
        triangle::unpack(&triangle, self.dim)
    }
}

/// Refuses features and posteriors that do not fit each other or the model, or are not finite.
///
/// # Errors
/// [`Error::OtherModel`] if the dimension or a Gaussian is not one of the model; otherwise [`Error::Data`].
pub fn check(
    features: &DenseMatrix<f32>,
    posterior: &Posterior,
    num_gauss: usize,
    feature_dim: usize,
) -> Result<()> {
    if features.rows != posterior.len() {
        let (frames, found) = (features.rows, posterior.len());
        return Err(Error::data(format!("the posteriors have {found} frames, the features {frames}")));
    }
    if features.rows > 0 && features.cols != feature_dim {
        let found = features.cols;
        return Err(Error::OtherModel(format!(
            "Feature dimension mismatch, expected {feature_dim}, got {found}"
        )));
    }
    if let Some(flaw) = features.not_finite() {
        return Err(Error::data(flaw.to_string()));
    }
    for (t, &(g, p)) in posterior.iter().enumerate().flat_map(|(t, frame)| frame.iter().map(move |x| (t, x)))
    {
        if usize::try_from(g).map_or(true, |g| g >= num_gauss) {
            return Err(Error::OtherModel(format!(
                "frame {t} has a posterior of Gaussian {g}, the model has {num_gauss} Gaussians"
            )));
        }
        if !p.is_finite() {
            return Err(Error::data(format!("frame {t} has the posterior {p} of Gaussian {g}")));
        }
    }
    Ok(())
}
