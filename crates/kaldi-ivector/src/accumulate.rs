//! Statistics for training: the sums over utterances, block by block.

use std::num::NonZero;
use std::ops::Range;

use kaldi_gmm::random::Rand;
use kaldi_io::{DenseMatrix, Posterior, SymmetricMatrix};
use kaldi_numerics::inverse_factor::InverseFactor;
use kaldi_numerics::triangle;

use crate::error::{Error, Result};
use crate::extractor::{IvectorExtractor, Weights};
use crate::ivector::{IvectorPosterior, Prior};
use crate::parallel::{self, ranges};
use crate::products::{Rows, add_product};
use crate::stats::ExtractorStats;
use crate::terms::IvectorTerms;
use crate::utterances::Block;

/// Parts of the statistics, and how they are computed.
#[derive(Debug, Clone, PartialEq)]
pub struct AccumulateOptions {
    /// Collects statistics for an update of the covariances.
    pub update_variances: bool,
    /// Computes the objective.
    pub compute_objective: bool,
    /// Samples of an i-vector for statistics of weights that depend on it; at least 2.
    pub samples_for_weights: usize,
    pub threads: NonZero<usize>,
}

/// An utterance that was left out, and the reason.
pub type Failure = (String, Error);

/// Collects statistics. Utterances wait in a block until there are enough for efficient products.
#[derive(Debug)]
pub struct Accumulator {
    options: AccumulateOptions,
    terms: IvectorTerms,
    prior: Prior,
    /// ln w_g + ½ ln |Σ_g⁻¹| − ½ D ln 2π, without ln w_g if weights depend on the i-vector.
    gconsts: Vec<f64>,
    inverse_covariances: Vec<SymmetricMatrix<f64>>,
    block: Block,
    stats: ExtractorStats,
}

impl Accumulator {
    /// Begins with statistics of 0 for an extractor.
    ///
    /// # Errors
    /// If there are fewer than two samples for weights, or an inverse covariance is not positive definite.
    pub fn new(extractor: IvectorExtractor, options: AccumulateOptions) -> Result<Accumulator> {
        if options.samples_for_weights < 2 {
            let number = options.samples_for_weights;
            return Err(Error::options(format!(
                "`num-samples-for-weights`={number}: expected a number of at least 2"
            )));
        }
        let terms = IvectorTerms::new(&extractor, options.threads);
        Ok(Accumulator {
            gconsts: gconsts(&extractor)?,
            block: Block::new(&terms, options.update_variances),
            stats: ExtractorStats::new(&extractor, options.update_variances),
            prior: Prior::new(&extractor),
            inverse_covariances: extractor.inverse_covariances,
            terms,
            options,
        })
    }

    /// Adds an utterance. Returns those utterances of which the i-vector could not be computed; they are not in the
    /// statistics. `rand` is drawn from once an utterance, in their order, if weights depend on the i-vector.
    ///
    /// # Errors
    /// If features or posteriors do not fit the model or are not finite; then the utterance is not added.
    pub fn add(
        &mut self,
        key: &str,
        features: &DenseMatrix<f32>,
        posterior: &Posterior,
        rand: Rand<'_>,
    ) -> Result<Vec<Failure>> {
        let (gaussians, dim) = (self.terms.num_gauss(), self.terms.feature_dim());
        crate::utterances::check(features, posterior, gaussians, dim)?;
        self.block.begin(key);
        self.block.add(features, posterior)?;
        if self.block.is_full() { self.flush(rand) } else { Ok(Vec::new()) }
    }

    /// Returns the statistics of all utterances, and those utterances that are not in them after the last call of
    /// [`add`](Self::add).
    ///
    /// # Errors
    /// If samples for weights cannot be drawn.
    pub fn finish(mut self, rand: Rand<'_>) -> Result<(ExtractorStats, Vec<Failure>)> {
        let failures = self.flush(rand)?;
        if self.options.compute_objective {
            let stats = &mut self.stats;
            let counts = stats.counts.iter().zip(&self.gconsts).filter(|(count, _)| **count != 0.0);
            stats.objective += counts.map(|(count, gconst)| count * gconst).sum::<f64>();
            if let Some(scatter) = &stats.scatter {
                let dim = stats.shape.feature_dim;
                let parts = scatter.chunks_exact(triangle::len(dim)).zip(&self.inverse_covariances);
                let sum: f64 =
                    parts.map(|(s, inverse)| triangle::trace_of_product(s, &inverse.data, dim)).sum();
                stats.objective -= 0.5 * sum;
            }
        }
        Ok((self.stats, failures))
    }

    /// Adds the utterances of the block to the statistics.
    fn flush(&mut self, rand: Rand<'_>) -> Result<Vec<Failure>> {
        let (utterances, dim) = (self.block.keys().len(), self.terms.ivector_dim());
        if utterances == 0 {
            return Ok(Vec::new());
        }
        let triangle = triangle::len(dim);
        let (mut means, mut scatters) = (vec![0.0; utterances * dim], vec![0.0; utterances * triangle]);
        let posteriors = self.estimate(&mut means, &mut scatters);
        let mut failures = Vec::new();
        for (utterance, estimate) in posteriors.into_iter().enumerate() {
            let count: f64 = self.block.counts(utterance).iter().sum();
            match estimate {
                Err(error) => {
                    failures.push((self.block.keys()[utterance].clone(), error));
                    self.block.forget(utterance);
                }
                Ok(Estimate { objective, posterior }) => {
                    self.stats.num_ivectors += 1.0;
                    self.stats.objective += objective;
                    if self.options.compute_objective && !self.options.update_variances {
                        // Variances count as those of the model: ½ tr(Σ Σ⁻¹) for each frame.
                        self.stats.objective -= 0.5 * count * self.terms.feature_dim() as f64;
                    }
                    if let (Some(stats), Some(posterior)) = (&mut self.stats.weights, posterior) {
                        let counts = self.block.counts(utterance);
                        let samples = self.options.samples_for_weights;
                        self.prior.add_samples(stats, counts, &posterior, samples, rand)?;
                    }
                }
            }
        }
        self.add_ivectors(&means, &scatters);
        self.add_gaussians(&means, &scatters);
        self.block.clear();
        Ok(failures)
    }

    /// Writes mean x and second moment V + xxᵀ of each utterance's i-vector, a row each; rows of failures stay 0.
    fn estimate(&self, means: &mut [f64], scatters: &mut [f64]) -> Vec<Result<Estimate>> {
        let dim = self.terms.ivector_dim();
        let objectives = self.block.objectives(&self.terms, self.options.threads);
        let mut out: Vec<Option<Result<Estimate>>> = Vec::new();
        out.resize_with(self.block.keys().len(), || None);
        let rows = means.chunks_exact_mut(dim).zip(scatters.chunks_exact_mut(triangle::len(dim)));
        let tasks = out.iter_mut().zip(rows).enumerate().collect();
        parallel::for_each(self.options.threads, tasks, |(utterance, (out, (mean, scatter)))| {
            *out = Some(self.prior.posterior(&self.block, &objectives, utterance).map(|posterior| {
                mean.copy_from_slice(posterior.mean.as_slice());
                let mut moment = posterior.covariance.clone();
                moment.ger(1.0, &posterior.mean, &posterior.mean, 1.0);
                triangle::pack(&moment, scatter);
                let objective = match self.options.compute_objective {
                    true => self.prior.objective(&self.block, &objectives, utterance, &posterior),
                    false => 0.0,
                };
                Estimate { objective, posterior: self.prior.regression.is_some().then_some(posterior) }
            }));
        });
        out.into_iter().flatten().collect()
    }

    /// Adds to the sums over i-vectors, in the order of utterances.
    fn add_ivectors(&mut self, means: &[f64], scatters: &[f64]) {
        let dim = self.terms.ivector_dim();
        let sums = [
            (&mut self.stats.ivector_sum, means, dim),
            (&mut self.stats.ivector_scatter, scatters, triangle::len(dim)),
        ];
        for (sum, values, size) in sums {
            for row in values.chunks_exact(size) {
                sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
            }
        }
        for utterance in 0..self.block.keys().len() {
            self.stats.counts.iter_mut().zip(self.block.counts(utterance)).for_each(|(sum, x)| *sum += x);
        }
    }

    /// Adds to the sums of each Gaussian, as products over the block.
    fn add_gaussians(&mut self, means: &[f64], scatters: &[f64]) {
        self.block.sort_frames();
        let (utterances, dim) = (self.block.keys().len(), self.terms.ivector_dim());
        let triangle = triangle::len(dim);
        let means = Rows::new(means, utterances, dim);
        let scatters = Rows::new(scatters, utterances, triangle);
        let (block, feature_dim) = (&self.block, self.terms.feature_dim());
        let ranges = ranges(self.terms.num_gauss());
        let share = ranges.first().map_or(1, Range::len);
        let mut distances = vec![0.0; ranges.len()];
        let mut frames =
            self.stats.scatter.as_mut().map(|s| s.chunks_mut(share * triangle::len(feature_dim)));
        let mut tasks = Vec::new();
        let sums = self.stats.linear.chunks_mut(share * feature_dim * dim);
        let sums = sums.zip(self.stats.quadratic.chunks_mut(share * triangle));
        for ((range, (linear, quadratic)), distance) in ranges.into_iter().zip(sums).zip(&mut distances) {
            tasks.push((range, linear, quadratic, frames.as_mut().and_then(Iterator::next), distance));
        }
        // Without second-order statistics the objective has the distances of means from 0; with them these cancel out.
        let with_distances = self.options.compute_objective && !self.options.update_variances;
        parallel::for_each(self.options.threads, tasks, |(range, linear, quadratic, frames, distance)| {
            add_product(linear, block.all_sums(&range).transposed(), means);
            add_product(quadratic, block.all_counts(&range).transposed(), scatters);
            if let Some(scatter) = frames {
                block.add_scatter(&range, scatter);
            }
            if with_distances {
                *distance = block.distances(&range, &self.inverse_covariances);
            }
        });
        self.stats.objective -= 0.5 * distances.iter().sum::<f64>();
    }
}

struct Estimate {
    /// The part of the objective that depends on the i-vector.
    objective: f64,
    /// The distribution that samples are drawn from, if they are needed.
    posterior: Option<IvectorPosterior>,
}

fn gconsts(extractor: &IvectorExtractor) -> Result<Vec<f64>> {
    let normalizer = 0.5 * extractor.feature_dim() as f64 * (2.0 * std::f64::consts::PI).ln();
    let of_gaussian = |(g, inverse): (usize, &SymmetricMatrix<f64>)| {
        let weight = match &extractor.weights {
            Weights::Fixed(weights) => weights[g].ln(),
            Weights::Regression(_) => 0.0,
        };
        match InverseFactor::new(triangle::unpack(&inverse.data, inverse.dim)) {
            Some(factor) => Ok(weight + 0.5 * factor.log_determinant() - normalizer),
            None => Err(Error::data(format!("inverse covariance {g} is not positive definite"))),
        }
    };
    extractor.inverse_covariances.iter().enumerate().map(of_gaussian).collect()
}

#[cfg(test)]
#[path = "accumulate_tests.rs"]
mod tests;
