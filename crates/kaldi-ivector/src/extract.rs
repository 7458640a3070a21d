//! I-vectors of whole utterances, or of all utterances of a speaker.

use std::num::NonZero;

use kaldi_io::{DenseMatrix, Posterior};

use crate::error::{Error, Result};
use crate::extractor::IvectorExtractor;
use crate::ivector::Prior;
use crate::parallel;
use crate::terms::IvectorTerms;
use crate::utterances::{Block, check};

/// Estimates i-vectors. Utterances wait in a block until there are enough for efficient products.
#[derive(Debug)]
pub struct Estimator {
    terms: IvectorTerms,
    prior: Prior,
    block: Block,
    improvements: bool,
    threads: NonZero<usize>,
}

/// The i-vector of an utterance or a speaker.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The distance from the mean of the prior.
    pub ivector: Vec<f64>,
    /// The objective over that of the mean of the prior, not divided by the count; 0 if it was not asked for.
    pub improvement: f64,
    /// The sum of the posteriors.
    pub count: f64,
}

/// Receives i-vectors in the order in which utterances were begun, or the reasons why there are none.
pub type Receive<'a> = &'a mut dyn FnMut(&str, Result<Estimate>);

impl Estimator {
    /// Makes an estimator without utterances. With `improvements`, it computes objectives too.
    pub fn new(extractor: &IvectorExtractor, improvements: bool, threads: NonZero<usize>) -> Estimator {
        let terms = IvectorTerms::new(extractor, threads);
        let block = Block::new(&terms, false);
        Estimator { prior: Prior::new(extractor), terms, block, improvements, threads }
    }

    pub fn ivector_dim(&self) -> usize {
        self.terms.ivector_dim()
    }

    /// Refuses features and posteriors that do not fit each other or the model, or are not finite.
    pub fn check(&self, features: &DenseMatrix<f32>, posterior: &Posterior) -> Result<()> {
        check(features, posterior, self.terms.num_gauss(), self.terms.feature_dim())
    }

    /// Begins an utterance or a speaker. If the block is full, `receive` gets its i-vectors.
    pub fn begin(&mut self, key: &str, receive: Receive<'_>) {
        if self.block.is_full() {
            self.flush(receive);
        }
        self.block.begin(key);
    }

    /// Adds frames to what was begun last. Errors are those of [`check`](Self::check).
    pub fn add(&mut self, features: &DenseMatrix<f32>, posterior: &Posterior) -> Result<()> {
        if self.block.is_empty() {
            return Err(Error::data("frames of no utterance"));
        }
        self.block.add(features, posterior)
    }

    /// The sum of the posteriors of what was begun last.
    pub fn count(&self) -> f64 {
        self.block.last_count()
    }

    /// Scales the statistics of what was begun last.
    pub fn scale(&mut self, factor: f64) {
        self.block.scale_last(factor);
    }

    /// Takes back what was begun last.
    pub fn drop_last(&mut self) {
        self.block.drop_last();
    }

    /// Estimates the i-vectors that are left.
    pub fn flush(&mut self, receive: Receive<'_>) {
        let objectives = self.block.objectives(&self.terms, self.threads);
        let mut out: Vec<Option<Result<Estimate>>> = Vec::new();
        out.resize_with(self.block.keys().len(), || None);
        let tasks = out.iter_mut().enumerate().collect();
        parallel::for_each(self.threads, tasks, |(utterance, out)| {
            *out = Some(self.prior.mean(&self.block, &objectives, utterance).map(|mean| {
                let improvement = match self.improvements {
                    true => self.prior.improvement(&self.block, &objectives, utterance, &mean),
                    false => 0.0,
                };
                let mut ivector = mean.as_slice().to_vec();
                ivector[0] -= self.prior.offset;
                Estimate { ivector, improvement, count: self.block.counts(utterance).iter().sum() }
            }));
        });
        for (key, estimate) in self.block.keys().iter().zip(out.into_iter().flatten()) {
            receive(key, estimate);
        }
        self.block.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OnlineStats;
    use crate::extractor::Weights;
    use crate::testing::{random, utterance, with_regression};

    const ONE: NonZero<usize> = NonZero::<usize>::MIN;

    fn one(extractor: &IvectorExtractor, features: &DenseMatrix<f32>, posterior: &Posterior) -> Estimate {
        let mut estimator = Estimator::new(extractor, true, ONE);
        let mut nothing = |_: &str, _: Result<Estimate>| panic!("one utterance does not fill a block");
        estimator.begin("u", &mut nothing);
        estimator.add(features, posterior).unwrap();
        let mut found = None;
        estimator.flush(&mut |_, estimate| found = Some(estimate.unwrap()));
        found.unwrap()
    }

    /// The statistics of online estimation, solved by many steps of conjugate gradients.
    fn online(extractor: &IvectorExtractor, features: &DenseMatrix<f32>, posterior: &Posterior) -> Estimate {
        let terms = IvectorTerms::new(extractor, ONE);
        let mut stats = OnlineStats::new(terms.ivector_dim(), extractor.prior_offset, 0.0);
        let frames: Vec<(&[f32], _)> = posterior
            .iter()
            .enumerate()
            .map(|(t, frame)| (features.row(t), frame.iter().map(|&(g, p)| (g as usize, p)).collect()))
            .collect();
        stats.accumulate(&terms, &frames);
        let mut ivector = vec![0.0; terms.ivector_dim()];
        stats.estimate(100, &mut ivector);
        let improvement = stats.improvement(&ivector) * stats.count();
        ivector[0] -= extractor.prior_offset;
        Estimate { ivector, improvement, count: stats.count() }
    }

    #[test]
    fn whole_utterances_are_those_of_online_estimation() {
        let extractor = random(20, 4, 9, 3);
        for threads in [1, 4] {
            let mut estimator = Estimator::new(&extractor, true, NonZero::new(threads).unwrap());
            let (mut keys, mut found) = (Vec::new(), Vec::new());
            let mut receive = |key: &str, estimate: Result<Estimate>| {
                keys.push(key.to_owned());
                found.push(estimate.unwrap());
            };
            let utterances: Vec<_> = (0..70).map(|i| utterance(3 + i % 20, 4, 20, i as u64)).collect();
            for (i, (features, posterior)) in utterances.iter().enumerate() {
                estimator.begin(&i.to_string(), &mut receive);
                estimator.add(features, posterior).unwrap();
            }
            estimator.flush(&mut receive);
            assert_eq!(keys, (0..70).map(|i| i.to_string()).collect::<Vec<_>>());
            for ((features, posterior), found) in utterances.iter().zip(found) {
                let expected = online(&extractor, features, posterior);
                let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5 * (1.0 + b.abs());
                assert!(found.ivector.iter().zip(&expected.ivector).all(close), "{found:?} {expected:?}");
                assert!(close((&found.improvement, &expected.improvement)), "{found:?} {expected:?}");
                assert!(close((&found.count, &expected.count)) && found.improvement >= 0.0);
            }
        }
    }

    #[test]
    fn speakers_and_scales() {
        let extractor = random(6, 4, 5, 3);
        let (first, second) = (utterance(10, 4, 6, 1), utterance(20, 4, 6, 2));
        let mut estimator = Estimator::new(&extractor, true, ONE);
        let mut receive = |_: &str, _: Result<Estimate>| panic!("not full");
        estimator.begin("dropped", &mut receive);
        estimator.add(&second.0, &second.1).unwrap();
        estimator.drop_last();
        estimator.begin("speaker", &mut receive);
        estimator.add(&first.0, &first.1).unwrap();
        estimator.add(&second.0, &second.1).unwrap();
        let count = estimator.count();
        estimator.scale(0.5);
        assert!((estimator.count() - count / 2.0).abs() < 1e-9);
        let error = estimator.add(&DenseMatrix::new(1, 3), &vec![vec![]]).unwrap_err().to_string();
        assert!(error.contains("expected 4, got 3"), "{error}");
        let mut found = Vec::new();
        estimator.flush(&mut |key, estimate| found.push((key.to_owned(), estimate.unwrap())));
        let half = |posterior: &Posterior| -> Posterior {
            posterior.iter().map(|f| f.iter().map(|&(g, p)| (g, p * 0.5)).collect()).collect()
        };
        let mut both = first.0.clone();
        both.data.extend(&second.0.data);
        both.rows += second.0.rows;
        let expected = one(&extractor, &both, &[half(&first.1), half(&second.1)].concat());
        assert_eq!((found.len(), found[0].0.as_str()), (1, "speaker"));
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
        assert!(found[0].1.ivector.iter().zip(&expected.ivector).all(close));
    }

    /// Frames without posteriors leave the mean of the prior; negative ones can leave no distribution at all.
    #[test]
    fn little_and_wrong_data() {
        let extractor = random(3, 2, 4, 1);
        let (features, mut posterior) = utterance(5, 2, 3, 1);
        let nothing = one(&extractor, &features, &vec![Vec::new(); 5]);
        assert!(nothing.ivector.iter().all(|x| x.abs() < 1e-12));
        assert_eq!((nothing.improvement, nothing.count), (0.0, 0.0));
        posterior.iter_mut().flatten().for_each(|(_, p)| *p *= -10.0);
        let mut estimator = Estimator::new(&extractor, true, ONE);
        assert!(estimator.add(&features, &posterior).unwrap_err().to_string().contains("no utterance"));
        estimator.begin("u", &mut |_, _| panic!("not full"));
        estimator.add(&features, &posterior).unwrap();
        let mut errors = Vec::new();
        estimator.flush(&mut |_, estimate| errors.push(estimate.unwrap_err().to_string()));
        assert!(errors.len() == 1 && errors[0].contains("not positive definite"), "{errors:?}");
    }

    /// The objective with weights that depend on the i-vector has no larger value near the estimate.
    #[test]
    fn weights_move_the_ivector_towards_a_maximum() {
        let fixed = random(6, 2, 3, 4);
        let extractor = with_regression(fixed.clone(), 9);
        let (features, posterior) = utterance(60, 2, 6, 5);
        let found = one(&extractor, &features, &posterior);
        let Weights::Regression(w) = &extractor.weights else { panic!("fixed weights") };
        let mut counts = [0.0; 6];
        posterior.iter().flatten().for_each(|&(g, p)| counts[g as usize] += f64::from(p));
        // ln w(x) counted by γ, and the quadratic function by the model with fixed weights.
        let objective = |x: &[f64]| {
            let u: Vec<f64> =
                (0..6).map(|g| w.row(g).iter().zip(x).map(|(w, x)| w * x).sum::<f64>()).collect();
            let log_sum = u.iter().map(|u| u.exp()).sum::<f64>().ln();
            let weights: f64 = counts.iter().zip(&u).map(|(count, u)| count * (u - log_sum)).sum();
            let terms = IvectorTerms::new(&fixed, ONE);
            let mut stats = OnlineStats::new(3, fixed.prior_offset, 0.0);
            let frames: Vec<(&[f32], _)> = (0..60)
                .map(|t| {
                    (features.row(t), posterior[t].iter().map(|&(g, p)| (g as usize, p)).collect::<Vec<_>>())
                })
                .collect();
            stats.accumulate(&terms, &frames);
            weights + stats.improvement(x) * stats.count()
        };
        let mut best = found.ivector.clone();
        best[0] += extractor.prior_offset;
        let top = objective(&best);
        let prior = objective(&[extractor.prior_offset, 0.0, 0.0]);
        assert!((found.improvement - (top - prior)).abs() < 1e-4 * top.abs(), "{found:?} {top} {prior}");
        for d in 0..3 {
            for step in [-0.3, 0.3] {
                let mut other = best.clone();
                other[d] += step;
                assert!(objective(&other) < top, "{d} {step}");
            }
        }
    }
}
