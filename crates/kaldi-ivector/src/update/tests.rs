//! The objective grows from update to update; floors, prior and statistics that cannot be used.

use nalgebra::{DMatrix, DVector};

use super::*;
use crate::accumulate::{AccumulateOptions, Accumulator};
use crate::testing::{random, utterance, with_regression};

const ONE: NonZero<usize> = NonZero::<usize>::MIN;

fn options() -> UpdateOptions {
    UpdateOptions { variance_floor_factor: 0.1, min_count: 3.0, diagonalize: true, threads: ONE }
}

/// Statistics of utterances that differ in a shift of all frames.
fn statistics(extractor: &IvectorExtractor, variances: bool) -> ExtractorStats {
    let options = AccumulateOptions {
        update_variances: variances,
        compute_objective: true,
        samples_for_weights: 5,
        threads: ONE,
    };
    let mut accumulator = Accumulator::new(extractor.clone(), options).unwrap();
    let mut number = 1;
    let mut rand = || {
        number += 1;
        number
    };
    for i in 0..60 {
        let (features, posterior) =
            utterance(40, extractor.feature_dim(), extractor.num_gauss(), 1000 + i as u64);
        accumulator.add("u", &features, &posterior, &mut rand).unwrap();
    }
    accumulator.finish(&mut rand).unwrap().0
}

fn quiet(_: Note) {}

#[test]
fn the_objective_grows_with_each_update() {
    let fixed = random(4, 3, 3, 7);
    // Floors of covariances would make it fall.
    let options = || UpdateOptions { variance_floor_factor: 1e-3, ..options() };
    for (mut extractor, options) in
        [(fixed.clone(), options()), (fixed.clone(), UpdateOptions { diagonalize: false, ..options() })]
    {
        let mut last = f64::NEG_INFINITY;
        let mut gains = 0;
        for _ in 0..6 {
            let stats = statistics(&extractor, true);
            assert!(stats.objective > last - 1e-6, "{} after {last}", stats.objective);
            gains += usize::from(stats.objective > last + 1e-3);
            last = stats.objective;
            assert!(update(&mut extractor, &stats, &options, &mut quiet).unwrap() > -1e-9);
        }
        assert!(gains > 2, "{gains}");
    }
    // With regression the samples are random; the first updates gain much more than their noise.
    let mut extractor = with_regression(fixed, 1);
    let first = statistics(&extractor, true);
    let Weights::Regression(before) = extractor.weights.clone() else { panic!("fixed weights") };
    update(&mut extractor, &first, &options(), &mut quiet).unwrap();
    assert!(!matches!(&extractor.weights, Weights::Regression(w) if *w == before));
    assert!(statistics(&extractor, true).objective > first.objective + 1.0);
}

/// After an update the i-vectors of the same statistics have the mean (o, 0, …) and unit covariance. The average of the
/// quadratic terms is diagonal in dimensions 1.. if dimension 0 does not change.
#[test]
fn the_prior_fits_the_ivectors() {
    let mut extractor = random(4, 3, 5, 7);
    let stats = statistics(&extractor, true);
    let before = extractor.clone();
    let only_prior = UpdateOptions { min_count: 1e9, ..options() };
    let without_variances = ExtractorStats { scatter: None, ..stats.clone() };
    let mut notes = Vec::new();
    update(&mut extractor, &without_variances, &only_prior, &mut |note| notes.push(note)).unwrap();
    assert!(notes.contains(&Note::Warning(format!(
        "Skipping Gaussian index 0 because count {} is below min-count.",
        num(stats.counts[0])
    ))));
    // V from M = M' V, by least squares over all Gaussians.
    let stack = |e: &IvectorExtractor| {
        let rows: Vec<f64> = e.projections.iter().flat_map(|m| m.data.clone()).collect();
        DMatrix::from_row_slice(rows.len() / 5, 5, &rows)
    };
    let (old, new) = (stack(&before), stack(&extractor));
    let change = (new.transpose() * &new).try_inverse().unwrap() * new.transpose() * &old;
    assert!((&new * &change - old).amax() < 1e-9);
    let mean = DVector::from_column_slice(&stats.ivector_sum) / stats.num_ivectors;
    let moment = triangle::unpack(&stats.ivector_scatter, 5) / stats.num_ivectors;
    let covariance = &change * (moment - &mean * mean.transpose()) * change.transpose();
    assert!((covariance - DMatrix::identity(5, 5)).amax() < 1e-9);
    let mut expected = DVector::zeros(5);
    expected[0] = extractor.prior_offset;
    assert!((&change * mean - expected).amax() < 1e-8 && extractor.prior_offset > 0.0);
    let Weights::Fixed(weights) = &extractor.weights else { panic!("regression") };
    let mut average = DMatrix::zeros(5, 5);
    for ((m, inverse), weight) in before.projections.iter().zip(&before.inverse_covariances).zip(weights) {
        let m = projection(m);
        average += m.transpose() * triangle::unpack(&inverse.data, 3) * m * *weight;
    }
    let inverse = change.view((1, 1), (4, 4)).into_owned().try_inverse().unwrap();
    let average = inverse.transpose() * average.view((1, 1), (4, 4)) * inverse;
    for (i, j) in (0..4).flat_map(|i| (0..i).map(move |j| (i, j))) {
        assert!(average[(i, j)].abs() < 1e-8 * average[(0, 0)]);
        assert!(average[(j, j)] >= average[(i, i)]);
    }
}

#[test]
fn threads_change_no_bit_and_floors_count() {
    let start = random(9, 3, 4, 7);
    let stats = statistics(&start, true);
    let run = |factor, threads| {
        let mut extractor = start.clone();
        let threads = NonZero::new(threads).unwrap();
        let options = UpdateOptions { variance_floor_factor: factor, threads, ..options() };
        let mut lines = Vec::new();
        update(&mut extractor, &stats, &options, &mut |note| lines.push(note)).unwrap();
        (extractor, lines)
    };
    assert_eq!(run(0.1, 1), run(0.1, 5));
    let (extractor, notes) = run(1.0, 1);
    // At a floor of the average itself, each covariance is at least that in all directions.
    let percent = notes.iter().find_map(|note| match note {
        Note::Log(line) => line.strip_prefix("Floored ")?.split('%').next()?.parse::<f64>().ok(),
        Note::Warning(_) => None,
    });
    assert!(percent.is_some_and(|percent| percent > 10.0 && percent < 90.0), "{percent:?}");
    assert!(explained_variance(&extractor, &stats.counts) > 0.5);
}

#[test]
fn statistics_that_cannot_be_used() {
    let start = random(3, 2, 3, 7);
    let stats = statistics(&start, true);
    let refused = |stats: &ExtractorStats, options: UpdateOptions, words: &str| {
        let error = update(&mut start.clone(), stats, &options, &mut quiet).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    let other = statistics(&random(3, 2, 4, 7), true);
    refused(&other, options(), "with i-vectors of dimension 4, the model has 3 Gaussians of dimension 2");
    refused(&statistics(&with_regression(start.clone(), 1), true), options(), "do not depend");
    refused(&ExtractorStats::new(&start, true), options(), "a count of 0 frames");
    let many = UpdateOptions { min_count: 1e6, ..options() };
    refused(&stats, many, "no Gaussian has a count of at least `gaussian-min-count`=1000000");
    for factor in [0.0, -1.0, 1.5, f64::NAN] {
        refused(
            &stats,
            UpdateOptions { variance_floor_factor: factor, ..options() },
            "`variance-floor-factor`=",
        );
    }
    // I-vectors that are all the same.
    let mean = DVector::from_column_slice(&stats.ivector_sum) / stats.num_ivectors;
    let mut singular = stats.clone();
    triangle::pack(&(&mean * mean.transpose() * stats.num_ivectors), &mut singular.ivector_scatter);
    refused(&singular, options(), "not positive definite");
    // No second-order statistics in one dimension.
    let mut singular = stats.clone();
    singular.scatter = Some(vec![0.0; stats.scatter.as_ref().unwrap().len()]);
    let mut notes = Vec::new();
    let result = update(&mut start.clone(), &singular, &options(), &mut |note| notes.push(note));
    assert!(result.is_err() || !notes.is_empty());
    // Without quadratic statistics M stays as it is, with a warning.
    let mut empty = ExtractorStats { scatter: None, ..stats };
    empty.quadratic.fill(0.0);
    let mut notes = Vec::new();
    update(&mut start.clone(), &empty, &options(), &mut |note| notes.push(note)).unwrap();
    let warnings = notes.iter().filter(|note| matches!(note, Note::Warning(line) if line.contains("Zero")));
    assert_eq!(warnings.count(), 3);
}
