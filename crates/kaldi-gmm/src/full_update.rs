//! Maximum-likelihood estimates of a mixture with full covariances (`gmm/mle-full-gmm.cc`), in double precision.

use kaldi_numerics::symmetric::packed;
use nalgebra::{DMatrix, DVector};

use crate::covariance::{cholesky, floor_eigenvalues};
use crate::error::{Error, Result};
use crate::flags::Parts;
use crate::full::{FullGmm, Moments};
use crate::random::Chance;
use crate::stats::FullGmmStats;
use crate::update::{Fate, Limits, UpdateReport, check};
use kaldi_io::{DenseMatrix, SymmetricMatrix};

/// A Gaussian of statistics with a smaller occupancy gets random parameters.
const LOW_OCCUPANCY: f64 = 1e-10;

/// Limits of an update.
#[derive(Debug, Clone, PartialEq)]
pub struct FullUpdateOptions {
    /// Gaussians with a smaller part of the occupancy of the mixture are not updated.
    pub min_gaussian_weight: f32,
    /// Gaussians with a smaller occupancy are not updated.
    pub min_gaussian_occupancy: f32,
    /// Least eigenvalue of a covariance.
    pub variance_floor: f64,
    /// Largest ratio of the eigenvalues of a covariance; smaller eigenvalues are raised.
    pub max_condition: f64,
    /// Removes Gaussians that are not updated, unless they are the last.
    pub remove_low_count_gaussians: bool,
}

impl FullGmm {
    /// Replaces `parts` by those that make the statistics most likely. `warn` gets a sentence for each Gaussian with too little
    /// data, and one about raised eigenvalues. An error if the statistics have other sizes or lack parts.
    pub fn update(
        &mut self,
        stats: &FullGmmStats,
        parts: Parts,
        options: &FullUpdateOptions,
        warn: &mut dyn FnMut(String),
    ) -> Result<UpdateReport> {
        check(stats, self.num_gauss(), self.dim(), parts)?;
        let before = objective(self, stats);
        let limits = Limits {
            weight: options.min_gaussian_weight.into(),
            occupancy: options.min_gaussian_occupancy.into(),
            remove: options.remove_low_count_gaussians,
            index: "i",
        };
        let mut report = UpdateReport { count: stats.total(), ..UpdateReport::default() };
        let mut removed = Vec::new();
        for (g, fate) in limits.decide(stats, warn).into_iter().enumerate() {
            match fate {
                Fate::Remove => removed.push(g),
                Fate::Estimate { weight } | Fate::Keep { weight } if parts.weights => {
                    self.weights[g] = weight as f32;
                }
                _ => {}
            }
            if let Fate::Estimate { .. } = fate {
                let floored = self.estimate(stats, g, parts, options).map_err(|e| of_component(g, &e))?;
                report.floored_variances += floored;
                report.floored_gaussians += usize::from(floored > 0);
            }
        }
        self.compute_gconsts()?;
        report.improvement = objective(self, stats) - before;
        report.removed_gaussians = removed.len();
        self.remove(&removed)?;
        warn_of_floors(report.floored_variances, report.floored_gaussians, warn);
        Ok(report)
    }

    /// Estimates one Gaussian, and returns the number of eigenvalues that were raised (also if the covariance is not taken over).
    fn estimate(
        &mut self,
        stats: &FullGmmStats,
        g: usize,
        parts: Parts,
        options: &FullUpdateOptions,
    ) -> Result<usize> {
        if !stats.parts().means {
            return Ok(0);
        }
        let old = self.moments(g)?.mean;
        let occupancy = stats.occupancies()[g];
        let mean = DVector::from_row_slice(stats.sums.row(g)) / occupancy;
        let mut floored = 0;
        if stats.parts().variances {
            let mut covariance = stats.product(g) / occupancy - &mean * mean.transpose();
            if !parts.means {
                let difference = &old - &mean;
                covariance += &difference * difference.transpose();
            }
            floored = floor_eigenvalues(&mut covariance, options.variance_floor, options.max_condition)?;
            if parts.variances {
                self.inv_covars[g] = inverse(covariance)?;
            }
        }
        if parts.means || parts.variances {
            self.set_mean(g, if parts.means { &mean } else { &old });
        }
        Ok(floored)
    }

    /// Makes a mixture of statistics alone. A Gaussian without data gets a small weight, random means of `chance` and unit
    /// covariance. `warn` gets a sentence about their number, and one about raised eigenvalues. An error if the statistics
    /// lack variances or are of no Gaussians.
    pub fn from_stats(
        stats: &FullGmmStats,
        options: &FullUpdateOptions,
        chance: &mut dyn Chance,
        warn: &mut dyn FnMut(String),
    ) -> Result<FullGmm> {
        if !stats.parts().variances {
            let flags = stats.parts().bits();
            return Err(Error::data(format!(
                "statistics with flags {flags} have no variances to make a mixture of"
            )));
        }
        let (num_gauss, dim) = (stats.num_gauss(), stats.dim());
        let (mut floored, mut floored_gaussians, mut low) = (0, 0, 0);
        let (mut weights, mut means, mut inv_covars) = (Vec::new(), Vec::new(), Vec::new());
        for (g, &occupancy) in stats.occupancies().iter().enumerate() {
            let mut moments = if occupancy < LOW_OCCUPANCY {
                low += 1;
                weights.push(LOW_OCCUPANCY);
                let mean = chance.normals(dim).into_iter().map(f64::from);
                Moments { mean: DVector::from_iterator(dim, mean), covariance: DMatrix::identity(dim, dim) }
            } else {
                weights.push(occupancy);
                let mean = DVector::from_row_slice(stats.sums.row(g)) / occupancy;
                let covariance = stats.product(g) / occupancy - &mean * mean.transpose();
                Moments { mean, covariance }
            };
            let (least, condition) = (options.variance_floor, options.max_condition);
            let raised = floor_eigenvalues(&mut moments.covariance, least, condition);
            let raised = raised.map_err(|e| of_component(g, &e))?;
            floored += raised;
            floored_gaussians += usize::from(raised > 0);
            inv_covars.push(inverse(moments.covariance).map_err(|e| of_component(g, &e))?);
            means.push(moments.mean);
        }
        let total: f64 = weights.iter().sum();
        let weights = weights.into_iter().map(|weight| (weight / total) as f32).collect();
        let mut gmm = FullGmm::new(weights, DenseMatrix::new(num_gauss, dim), inv_covars)?;
        means.iter().enumerate().for_each(|(g, mean)| gmm.set_mean(g, mean));
        gmm.compute_gconsts()?;
        warn_of_floors(floored, floored_gaussians, warn);
        if low > 0 {
            warn(format!("{low} out of {num_gauss} Gaussians had very low occupancy."));
        }
        Ok(gmm)
    }

    /// Replaces the mean of a Gaussian; its constant is not brought up to date.
    fn set_mean(&mut self, g: usize, mean: &DVector<f64>) {
        let inv_covar = &self.inv_covars[g];
        for (d, out) in self.means_invcovars.row_mut(g).iter_mut().enumerate() {
            let terms = mean.iter().enumerate().map(|(e, x)| f64::from(inv_covar.get(d, e)) * x);
            *out = terms.sum::<f64>() as f32;
        }
    }
}

fn of_component(g: usize, error: &Error) -> Error {
    Error::data(format!("component {g}: {error}"))
}

fn inverse(covariance: DMatrix<f64>) -> Result<SymmetricMatrix<f32>> {
    Ok(packed(&cholesky(covariance, "covariance")?.inverse()))
}

fn warn_of_floors(variances: usize, gaussians: usize, warn: &mut dyn FnMut(String)) {
    if variances > 0 {
        warn(format!("{variances} variances floored in {gaussians} Gaussians."));
    }
}

/// The objective function of statistics: Σ occ·g + S₁·Σ⁻¹μ − ½ tr(S₂ Σ⁻¹).
fn objective(gmm: &FullGmm, stats: &FullGmmStats) -> f64 {
    // A Gaussian with weight 0 and no frames contributes nothing.
    let constants = stats.occupancies().iter().zip(&gmm.gconsts).filter(|(occupancy, _)| **occupancy != 0.0);
    let mut out = constants.map(|(occupancy, &gconst)| occupancy * f64::from(gconst)).sum::<f64>();
    let product = |a: &[f64], b: &[f32]| a.iter().zip(b).map(|(a, &b)| a * f64::from(b)).sum::<f64>();
    out += product(&stats.sums.data, &gmm.means_invcovars.data);
    if stats.parts().variances {
        for (g, inv_covar) in gmm.inv_covars.iter().enumerate() {
            let row = stats.products.row(g);
            let diagonal = |d: usize| SymmetricMatrix::<f64>::offset(d, d);
            let twice: f64 = (0..gmm.dim()).map(|d| row[diagonal(d)] * f64::from(inv_covar.get(d, d))).sum();
            // Elements beside the diagonal are there once of two times.
            out -= product(row, &inv_covar.data) - 0.5 * twice;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::Scorer;
    use crate::selection::softmax;
    use crate::testing_models::{Dice, features, full_mixture};

    fn options() -> FullUpdateOptions {
        FullUpdateOptions {
            min_gaussian_weight: 1e-5,
            min_gaussian_occupancy: 2.0,
            variance_floor: 1e-4,
            max_condition: 1e4,
            remove_low_count_gaussians: true,
        }
    }

    /// Statistics of 200 frames of dimension 3 by a mixture, and the log-likelihood of the frames.
    fn stats(gmm: &FullGmm, parts: &str) -> (FullGmmStats, f64) {
        let mut stats = FullGmmStats::new(gmm.num_gauss(), 3, Parts::parse(parts).unwrap());
        let (features, mut sum) = (features(200, 3, 21), 0.0);
        let add = |t: usize, likelihoods: &mut [f32]| {
            sum += f64::from(softmax(likelihoods)?);
            stats.add(features.row(t), likelihoods);
            Ok(())
        };
        Scorer::from(gmm).for_each_frame(&features, add).unwrap();
        (stats, sum)
    }

    fn run(
        gmm: &FullGmm,
        stats: &FullGmmStats,
        parts: &str,
        options: &FullUpdateOptions,
    ) -> (FullGmm, UpdateReport, Vec<String>) {
        let (mut gmm, mut warnings) = (gmm.clone(), Vec::new());
        let parts = Parts::parse(parts).unwrap();
        let report = gmm.update(stats, parts, options, &mut |text| warnings.push(text)).unwrap();
        (gmm, report, warnings)
    }

    #[test]
    fn one_gaussian_has_the_moments_of_the_frames() {
        let old = full_mixture(1, 3, 2);
        let (gmm, report, warnings) = run(&old, &stats(&old, "mvw").0, "mvw", &options());
        let frames = features(200, 3, 21);
        let mean = |d: usize| (0..200).map(|t| f64::from(frames.row(t)[d])).sum::<f64>() / 200.0;
        let covar = |i: usize, j: usize| {
            let term =
                |t: usize| (f64::from(frames.row(t)[i]) - mean(i)) * (f64::from(frames.row(t)[j]) - mean(j));
            (0..200).map(term).sum::<f64>() / 200.0
        };
        for d in 0..3 {
            assert!((gmm.mean(0).unwrap()[d] - mean(d)).abs() < 1e-6);
            assert!((gmm.covariance(0).unwrap().get(d, 1) - covar(d, 1)).abs() < 1e-6);
        }
        assert!(report.count == 200.0 && warnings.is_empty() && gmm.weights() == [1.0]);
        // The objective is the log-likelihood of the frames if there is one Gaussian.
        let growth = stats(&gmm, "mvw").1 - stats(&old, "mvw").1;
        assert!((report.improvement - growth).abs() < 1e-3, "{} {growth}", report.improvement);
    }

    #[test]
    fn likelihoods_grow() {
        let mut gmm = full_mixture(4, 3, 5);
        let mut last = f64::NEG_INFINITY;
        for _ in 0..4 {
            let (stats, likelihood) = stats(&gmm, "mvw");
            assert!(likelihood > last, "{likelihood} {last}");
            last = likelihood;
            gmm = run(&gmm, &stats, "mvw", &options()).0;
        }
    }

    #[test]
    fn only_parts_change() {
        let old = full_mixture(2, 3, 5);
        let stats = stats(&old, "mvw").0;
        let (gmm, ..) = run(&old, &stats, "m", &options());
        assert_eq!((gmm.weights(), gmm.inv_covars()), (old.weights(), old.inv_covars()));
        assert_ne!(gmm.means_invcovars(), old.means_invcovars());
        let (gmm, ..) = run(&old, &stats, "v", &options());
        for g in 0..2 {
            let (new, old) = (gmm.moments(g).unwrap(), old.moments(g).unwrap());
            assert!((&new.mean - &old.mean).amax() < 1e-4);
            // Covariances are around the old mean.
            let mean = DVector::from_row_slice(stats.sums.row(g)) / stats.occupancies()[g];
            let expected = stats.product(g) / stats.occupancies()[g] - &mean * mean.transpose()
                + (&mean - &old.mean) * (&mean - &old.mean).transpose();
            assert!((new.covariance - expected).amax() < 1e-5);
        }
    }

    #[test]
    fn floors_and_too_little_data() {
        let old = full_mixture(3, 3, 5);
        let stats = stats(&old, "mvw").0;
        let floors = FullUpdateOptions { variance_floor: 100.0, ..options() };
        let (gmm, report, warnings) = run(&old, &stats, "mvw", &floors);
        assert_eq!((report.floored_variances, report.floored_gaussians), (9, 3));
        assert_eq!(warnings, ["9 variances floored in 3 Gaussians."]);
        assert!((gmm.covariance(1).unwrap().get(1, 1) - 100.0).abs() < 1e-3);
        let little = FullUpdateOptions { min_gaussian_occupancy: 1e6, ..options() };
        let (gmm, report, warnings) = run(&old, &stats, "mvw", &little);
        assert_eq!((gmm.num_gauss(), report.removed_gaussians, warnings.len()), (1, 2, 3));
        assert!(warnings[0].starts_with("Too little data - removing Gaussian (weight 0."), "{}", warnings[0]);
        let keep = FullUpdateOptions { remove_low_count_gaussians: false, ..little };
        let (gmm, _, warnings) = run(&old, &stats, "mvw", &keep);
        assert_eq!(gmm.inv_covars(), old.inv_covars());
        assert!(
            warnings[1].contains("remove-low-count-gaussians == false: i = 1, occ = "),
            "{}",
            warnings[1]
        );
    }

    #[test]
    fn statistics_of_something_else() {
        let mut gmm = full_mixture(2, 3, 5);
        let mut error = |stats: &FullGmmStats| {
            gmm.update(stats, Parts::ALL, &options(), &mut |_| ()).unwrap_err().to_string()
        };
        assert!(
            error(&FullGmmStats::new(2, 4, Parts::ALL))
                .contains("2 Gaussians of dimension 4, the mixture has 2")
        );
        assert!(error(&FullGmmStats::new(2, 3, Parts::parse("m").unwrap())).contains("Flags"));
        let mut infinite = FullGmmStats::new(2, 3, Parts::ALL);
        (0..20).for_each(|_| infinite.add(&[1.0, f32::INFINITY, 0.0], &[1.0, 0.0]));
        assert!(error(&infinite).contains("component 0: the eigenvalues"));
    }

    #[test]
    fn a_mixture_of_statistics_alone() {
        let old = full_mixture(2, 3, 5);
        let (two, mut three) = (stats(&old, "mvw").0, FullGmmStats::new(3, 3, Parts::ALL.for_statistics()));
        let features = features(200, 3, 21);
        for t in 0..200 {
            three.add(features.row(t), &[0.5, 0.0, 0.5]);
        }
        let mut warnings = Vec::new();
        let mut make = |stats: &FullGmmStats| {
            let mut dice = Dice(fastrand::Rng::with_seed(3));
            FullGmm::from_stats(stats, &options(), &mut dice, &mut |text| warnings.push(text))
        };
        let (gmm, updated) = (make(&two).unwrap(), run(&old, &two, "mvw", &options()).0);
        for (a, b) in gmm.means_invcovars().data.iter().zip(&updated.means_invcovars().data) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
        let gmm = make(&three).unwrap();
        assert!(gmm.weights()[1] < 1e-10 && gmm.weights()[0] == 0.5);
        assert_eq!(gmm.covariance(1).unwrap().data, [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
        assert_eq!(
            make(&FullGmmStats::new(2, 3, Parts::parse("m").unwrap())).unwrap_err().to_string(),
            "statistics with flags 5 have no variances to make a mixture of"
        );
        assert!(make(&FullGmmStats::new(0, 3, Parts::ALL)).is_err());
        assert_eq!(warnings, ["1 out of 3 Gaussians had very low occupancy."]);
    }
}
