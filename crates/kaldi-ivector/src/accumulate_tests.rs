//! Statistics against the formulas, utterance by utterance.

use nalgebra::{DMatrix, DVector};

use super::*;
use crate::products::owned;
use crate::testing::{random, utterance, with_regression};

fn options(threads: usize) -> AccumulateOptions {
    AccumulateOptions {
        update_variances: true,
        compute_objective: true,
        samples_for_weights: 4,
        threads: NonZero::new(threads).unwrap(),
    }
}

/// Utterances of several lengths. More than fit one block.
fn utterances(dim: usize, gaussians: usize) -> Vec<(DenseMatrix<f32>, Posterior)> {
    (0..75).map(|i| utterance(1 + i % 13, dim, gaussians, i as u64)).collect()
}

fn accumulate(
    extractor: &IvectorExtractor,
    options: AccumulateOptions,
    utterances: &[(DenseMatrix<f32>, Posterior)],
) -> ExtractorStats {
    let mut accumulator = Accumulator::new(extractor.clone(), options).unwrap();
    let mut number = 0;
    let mut rand = || {
        number += 1000;
        number
    };
    for (i, (features, posterior)) in utterances.iter().enumerate() {
        let failures = accumulator.add(&format!("u{i}"), features, posterior, &mut rand).unwrap();
        assert!(failures.is_empty());
    }
    let (stats, failures) = accumulator.finish(&mut rand).unwrap();
    assert!(failures.is_empty());
    stats
}

fn square(s: &SymmetricMatrix<f64>) -> DMatrix<f64> {
    DMatrix::from_fn(s.dim, s.dim, |i, j| s.get(i, j))
}

#[track_caller]
fn assert_near(found: &[f64], expected: impl IntoIterator<Item = f64>) {
    let expected: Vec<f64> = expected.into_iter().collect();
    assert_eq!(found.len(), expected.len());
    let size = expected.iter().fold(1e-3, |most: f64, x| most.max(x.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9 * size, "{found} {expected}");
    }
}

fn triangle(m: &DMatrix<f64>) -> Vec<f64> {
    (0..m.nrows()).flat_map(|i| (0..=i).map(move |j| m[(i, j)])).collect()
}

/// Sums as in the formulas, with fixed weights.
struct Slow {
    counts: DVector<f64>,
    linear: Vec<DMatrix<f64>>,
    quadratic: Vec<DMatrix<f64>>,
    scatter: Vec<DMatrix<f64>>,
    sum: DVector<f64>,
    moment: DMatrix<f64>,
    objective: f64,
    objective_without_variances: f64,
}

fn slow(extractor: &IvectorExtractor, utterances: &[(DenseMatrix<f32>, Posterior)]) -> Slow {
    let (count, rows, cols) = (extractor.num_gauss(), extractor.feature_dim(), extractor.ivector_dim());
    let Weights::Fixed(weights) = &extractor.weights else { panic!("weights depend on the i-vector") };
    let m: Vec<DMatrix<f64>> = extractor.projections.iter().map(|m| owned(&m.data, rows, cols)).collect();
    let inverse: Vec<DMatrix<f64>> = extractor.inverse_covariances.iter().map(square).collect();
    let offset = extractor.prior_offset;
    let mut out = Slow {
        counts: DVector::zeros(count),
        linear: vec![DMatrix::zeros(rows, cols); count],
        quadratic: vec![DMatrix::zeros(cols, cols); count],
        scatter: vec![DMatrix::zeros(rows, rows); count],
        sum: DVector::zeros(cols),
        moment: DMatrix::zeros(cols, cols),
        objective: 0.0,
        objective_without_variances: 0.0,
    };
    for (features, posterior) in utterances {
        let mut counts = vec![0.0; count];
        let mut sums = vec![DVector::zeros(rows); count];
        let mut squares = vec![DMatrix::zeros(rows, rows); count];
        for (t, &(g, p)) in posterior.iter().enumerate().flat_map(|(t, f)| f.iter().map(move |x| (t, x))) {
            let (g, p) = (g as usize, f64::from(p));
            let x = DVector::from_iterator(rows, features.row(t).iter().map(|&x| f64::from(x)));
            counts[g] += p;
            sums[g] += &x * p;
            squares[g] += &x * x.transpose() * p;
        }
        let (mut linear, mut quadratic) = (DVector::zeros(cols), DMatrix::identity(cols, cols));
        linear[0] = offset;
        for g in 0..count {
            linear += m[g].transpose() * &inverse[g] * &sums[g];
            quadratic += m[g].transpose() * &inverse[g] * &m[g] * counts[g];
        }
        let covariance = quadratic.try_inverse().unwrap();
        let mean = &covariance * linear;
        let moment = &covariance + &mean * mean.transpose();
        // E[log p(x, data) − log q(x)]: each Gaussian's expected distance, written out.
        let mut distance = mean.clone();
        distance[0] -= offset;
        let prior = -0.5
            * (distance.norm_squared() + covariance.trace() - cols as f64 - covariance.determinant().ln());
        out.objective += prior;
        out.objective_without_variances += prior;
        for g in 0..count {
            let determinant = (&inverse[g] / (2.0 * std::f64::consts::PI)).determinant().ln();
            let constant = counts[g] * (weights[g].ln() + 0.5 * determinant);
            let cross = &sums[g] * (&m[g] * &mean).transpose();
            let by_ivector = &m[g] * &moment * m[g].transpose() * counts[g] - &cross - cross.transpose();
            out.objective += constant - 0.5 * (&inverse[g] * (&squares[g] + &by_ivector)).trace();
            if counts[g] != 0.0 {
                let means = &sums[g] * sums[g].transpose() / counts[g];
                out.objective_without_variances += constant
                    - 0.5 * (&inverse[g] * (means + &by_ivector)).trace()
                    - 0.5 * counts[g] * rows as f64;
            }
            out.counts[g] += counts[g];
            out.linear[g] += &sums[g] * mean.transpose();
            out.quadratic[g] += &moment * counts[g];
            out.scatter[g] += &squares[g];
        }
        out.sum += mean;
        out.moment += moment;
    }
    out
}

#[test]
fn sums_over_blocks_are_those_of_single_utterances() {
    for (gaussians, dim, ivector_dim) in [(5, 3, 4), (20, 7, 15), (1, 1, 1)] {
        let extractor = random(gaussians, dim, ivector_dim, 5);
        let utterances = utterances(dim, gaussians);
        let expected = slow(&extractor, &utterances);
        let found = accumulate(&extractor, options(1), &utterances);
        assert_near(&found.counts, expected.counts.iter().copied());
        assert_near(&found.linear, expected.linear.iter().flat_map(|y| y.transpose().as_slice().to_vec()));
        assert_near(&found.quadratic, expected.quadratic.iter().flat_map(triangle));
        assert_near(found.scatter.as_ref().unwrap(), expected.scatter.iter().flat_map(triangle));
        assert_near(&found.ivector_sum, expected.sum.iter().copied());
        assert_near(&found.ivector_scatter, triangle(&expected.moment));
        assert_near(&[found.num_ivectors, found.objective], [75.0, expected.objective]);
        let without = AccumulateOptions { update_variances: false, ..options(2) };
        let without = accumulate(&extractor, without, &utterances);
        assert_eq!((without.scatter, &without.linear), (None, &found.linear));
        assert_near(&[without.objective], [expected.objective_without_variances]);
        let silent = AccumulateOptions { compute_objective: false, ..options(1) };
        assert_eq!(accumulate(&extractor, silent, &utterances).objective, 0.0);
    }
}

#[test]
fn threads_change_no_bit() {
    let fixed = random(11, 5, 6, 5);
    for extractor in [&fixed, &with_regression(fixed.clone(), 6)] {
        let utterances = utterances(5, 11);
        let one = accumulate(extractor, options(1), &utterances);
        for threads in [2, 3, 16] {
            assert_eq!(accumulate(extractor, options(threads), &utterances), one);
        }
    }
}

/// With W = 0 the weights do not depend on the i-vector. So the statistics are those of fixed weights. Those of the
/// weights are sums over samples of known coefficients.
#[test]
fn weights_that_depend_on_nothing() {
    let fixed = random(4, 3, 3, 5);
    let mut extractor = fixed.clone();
    extractor.weights = Weights::Regression(DenseMatrix::new(4, 3));
    let utterances = utterances(3, 4);
    let (expected, found) =
        (accumulate(&fixed, options(1), &utterances), accumulate(&extractor, options(1), &utterances));
    assert_near(&found.linear, expected.linear.iter().copied());
    assert_near(&found.quadratic, expected.quadratic.iter().copied());
    // ln w is −ln 4 for each Gaussian.
    let Weights::Fixed(weights) = &fixed.weights else { panic!("weights depend on the i-vector") };
    let change: f64 =
        expected.counts.iter().zip(weights).map(|(count, weight)| count * (0.25f64.ln() - weight.ln())).sum();
    assert_near(&[found.objective], [expected.objective + change]);
    // With ŵ = 1/4: Σ_g Q_g has the trace Σ_u Σ_g max(γ_g, Γ/4) tr E[xxᵀ], near that of the distribution of x.
    let weights = found.weights.unwrap();
    let quadratic: f64 = weights.quadratic.chunks_exact(6).map(|q| triangle::trace(q, 3)).sum();
    let counts = |posterior: &Posterior| {
        let mut counts = [0.0; 4];
        posterior.iter().flatten().for_each(|&(g, p)| counts[g as usize] += f64::from(p));
        counts
    };
    let mut expected = 0.0;
    for one in &utterances {
        let counts = counts(&one.1);
        let total: f64 = counts.iter().sum();
        let moment = slow(&fixed, std::slice::from_ref(one)).moment.trace();
        expected += moment * counts.iter().map(|count| count.max(total / 4.0)).sum::<f64>();
    }
    assert!((quadratic / expected - 1.0).abs() < 0.05, "{quadratic} {expected}");
}

#[test]
fn utterances_that_cannot_be_used() {
    let extractor = random(3, 2, 4, 1);
    let mut accumulator = Accumulator::new(extractor.clone(), options(1)).unwrap();
    let (features, posterior) = utterance(5, 2, 3, 1);
    let mut rand = || 1;
    let mut refused = |features: &DenseMatrix<f32>, posterior: &Posterior, words: &str| {
        let error = accumulator.add("u", features, posterior, &mut rand).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(&features, &posterior[1..].to_vec(), "the posteriors have 4 frames, the features 5");
    refused(&DenseMatrix::new(5, 3), &posterior, "Feature dimension mismatch, expected 2, got 3");
    let with = |pair| {
        let mut posterior = posterior.clone();
        posterior[2] = vec![pair];
        posterior
    };
    refused(&features, &with((3, 0.5)), "frame 2 has a posterior of Gaussian 3, the model has 3 Gaussians");
    refused(&features, &with((-1, 0.5)), "posterior of Gaussian -1");
    refused(&features, &with((1, f32::NAN)), "frame 2 has the posterior NaN of Gaussian 1");
    let mut wrong = features.clone();
    wrong.data[3] = f32::INFINITY;
    refused(&wrong, &posterior, "frame 1 has the value inf in column 1");
    // An utterance without frames or posteriors has the i-vector of the prior; one with negative posteriors has none.
    let negative: Posterior =
        posterior.iter().map(|f| f.iter().map(|&(g, p)| (g, -9.0 * p)).collect()).collect();
    for (key, features, posterior) in [
        ("empty", &DenseMatrix::default(), &Vec::new()),
        ("negative", &features, &negative),
        ("u", &features, &posterior),
        ("no-posteriors", &features, &vec![Vec::new(); 5]),
    ] {
        assert!(accumulator.add(key, features, posterior, &mut rand).unwrap().is_empty());
    }
    let (stats, failures) = accumulator.finish(&mut rand).unwrap();
    assert_eq!(failures.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["negative"]);
    assert!(failures[0].1.to_string().contains("not positive definite"), "{}", failures[0].1);
    let none = (DenseMatrix::default(), Vec::new());
    let expected = accumulate(&extractor, options(1), &[none.clone(), (features, posterior), none]);
    assert_eq!(stats, expected);
}

#[test]
fn models_that_cannot_be_used() {
    let mut extractor = random(3, 2, 4, 1);
    let few = AccumulateOptions { samples_for_weights: 1, ..options(1) };
    let error = Accumulator::new(extractor.clone(), few).unwrap_err().to_string();
    assert!(error.contains("`num-samples-for-weights`=1"), "{error}");
    extractor.inverse_covariances[1].data = vec![1.0, 2.0, 1.0];
    let error = Accumulator::new(extractor, options(1)).unwrap_err().to_string();
    assert!(error.contains("inverse covariance 1 is not positive definite"), "{error}");
}
