//! I-vectors of growing beginnings of an utterance (`EstimateIvectorsOnline` of `ivector/ivector-extractor.cc`).

use kaldi_io::{DenseMatrix, Posterior};
use kaldi_numerics::conjugate_gradients::Solution;

use crate::error::{Error, Result};
use crate::online::OnlineStats;
use crate::terms::IvectorTerms;
use crate::utterances::check;

/// Times of estimates of i-vectors, and steps for each.
#[derive(Debug, Clone, PartialEq)]
pub struct GrowingOptions {
    /// Steps of conjugate gradients for an estimate.
    pub steps: usize,
    /// Frames from one estimate to the next; the first is after frame 0.
    pub period: usize,
    /// If this is not 0, a larger count has no more weight against the prior than this one.
    pub max_count: f64,
}

/// The i-vectors of an utterance.
#[derive(Debug, Clone, PartialEq)]
pub struct GrowingIvectors {
    /// A row for each estimate: the distance from the mean of the prior.
    pub rows: DenseMatrix<f32>,
    /// The objective of the last estimate over that of the mean of the prior, divided by the count.
    pub improvement: f64,
    /// Estimates for which steps of conjugate gradients had led away from the solution.
    pub exact_solutions: usize,
}

/// Estimates an i-vector after every `period` frames, from the one before it.
///
/// # Errors
/// If the period is 0, there are no frames, or features or posteriors do not fit the model or are not finite.
pub fn estimate(
    terms: &IvectorTerms,
    features: &DenseMatrix<f32>,
    posterior: &Posterior,
    options: &GrowingOptions,
) -> Result<GrowingIvectors> {
    if options.period == 0 {
        return Err(Error::options("`ivector-period`=0: expected a number above 0"));
    }
    if features.rows == 0 {
        return Err(Error::data("empty feature matrix"));
    }
    check(features, posterior, terms.num_gauss(), terms.feature_dim())?;
    let mut stats = OnlineStats::new(terms.ivector_dim(), terms.prior_offset(), options.max_count);
    let mut ivector = vec![0.0; terms.ivector_dim()];
    ivector[0] = terms.prior_offset();
    let offset = terms.prior_offset() as f32;
    let (mut counted, mut rows, mut exact_solutions) = (0, Vec::new(), 0);
    for last in (0..features.rows).step_by(options.period) {
        let frame = |t: usize| {
            let posteriors = posterior[t].iter().map(|&(g, p)| (g as usize, p)).collect();
            (features.row(t), posteriors)
        };
        stats.accumulate(terms, &(counted..=last).map(frame).collect::<Vec<_>>());
        counted = last + 1;
        exact_solutions += usize::from(stats.estimate(options.steps, &mut ivector) == Solution::Exact);
        let mut row: Vec<f32> = ivector.iter().map(|&x| x as f32).collect();
        row[0] -= offset;
        rows.push(row);
    }
    let improvement = stats.improvement(&ivector);
    Ok(GrowingIvectors { rows: DenseMatrix::from_rows(&rows), improvement, exact_solutions })
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;
    use crate::extract::Estimator;
    use crate::testing::{random, utterance};

    const ONE: NonZero<usize> = NonZero::<usize>::MIN;

    /// With enough steps each row is the i-vector of an utterance that ends there.
    #[test]
    fn rows_are_ivectors_of_beginnings() {
        let extractor = random(6, 4, 5, 3);
        let terms = IvectorTerms::new(&extractor, ONE);
        let (features, posterior) = utterance(23, 4, 6, 5);
        for period in [1, 7, 23, 100] {
            let options = GrowingOptions { steps: 200, period, max_count: 0.0 };
            let found = estimate(&terms, &features, &posterior, &options).unwrap();
            assert_eq!((found.rows.rows, found.exact_solutions), (23usize.div_ceil(period), 0));
            for (i, row) in found.rows.data.chunks_exact(5).enumerate() {
                let frames = i * period + 1;
                let mut estimator = Estimator::new(&extractor, true, ONE);
                estimator.begin("u", &mut |_, _| panic!("not full"));
                estimator.add(&features.block(0, frames, 0, 4), &posterior[..frames].to_vec()).unwrap();
                let mut last = None;
                estimator.flush(&mut |_, estimate| last = Some(estimate.unwrap()));
                let expected = last.unwrap();
                let close = |(a, b): (&f32, &f64)| (f64::from(*a) - b).abs() < 1e-4 * (1.0 + b.abs());
                assert!(row.iter().zip(&expected.ivector).all(close), "{row:?} {expected:?}");
                if frames + period > 23 && expected.count > 0.0 {
                    assert!((found.improvement - expected.improvement / expected.count).abs() < 1e-4);
                }
            }
        }
    }

    #[test]
    fn a_larger_count_has_no_more_weight() {
        let extractor = random(6, 4, 5, 3);
        let terms = IvectorTerms::new(&extractor, ONE);
        let (features, posterior) = utterance(40, 4, 6, 5);
        let count: f64 = posterior.iter().flatten().map(|(_, p)| f64::from(*p)).sum();
        let options = GrowingOptions { steps: 200, period: 39, max_count: count / 4.0 };
        let found = estimate(&terms, &features, &posterior, &options).unwrap();
        // The last frame of the second row is frame 39, the last of all.
        let mut estimator = Estimator::new(&extractor, false, ONE);
        estimator.begin("u", &mut |_, _| panic!("not full"));
        estimator.add(&features, &posterior).unwrap();
        estimator.scale(0.25);
        let mut expected = Vec::new();
        estimator.flush(&mut |_, estimate| expected = estimate.unwrap().ivector);
        let close = |(a, b): (&f32, &f64)| (f64::from(*a) - b).abs() < 1e-4 * (1.0 + b.abs());
        assert!(found.rows.row(1).iter().zip(&expected).all(close), "{found:?} {expected:?}");
    }

    #[test]
    fn utterances_that_cannot_be_used() {
        let terms = IvectorTerms::new(&random(3, 2, 4, 1), ONE);
        let (features, posterior) = utterance(5, 2, 3, 1);
        let options = GrowingOptions { steps: 15, period: 10, max_count: 0.0 };
        let refused = |features: &DenseMatrix<f32>, posterior: &Posterior, options: &GrowingOptions| {
            estimate(&terms, features, posterior, options).unwrap_err().to_string()
        };
        let never = GrowingOptions { period: 0, ..options.clone() };
        assert!(refused(&features, &posterior, &never).contains("`ivector-period`=0"));
        assert!(refused(&DenseMatrix::default(), &Vec::new(), &options).contains("empty"));
        assert!(refused(&features, &vec![vec![(3, 1.0)]; 5], &options).contains("Gaussian 3"));
        assert!(refused(&features, &posterior[1..].to_vec(), &options).contains("4 frames, the features 5"));
    }
}
