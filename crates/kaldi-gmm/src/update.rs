//! Maximum-likelihood estimates of mixtures (`gmm/mle-diag-gmm.cc`), in double precision.

use crate::error::{Error, Result};
use crate::flags::Parts;
use crate::gmm::DiagGmm;
use crate::model::AmDiagGmm;
use crate::model_stats::ModelStats;
use crate::parameters::Parameters;
use crate::stats::{GmmStats, Kind};
use kaldi_io::DenseMatrix;
use kaldi_io::log::num;

/// Limits of an update.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateOptions {
    /// Gaussians with a smaller part of the occupancy of their mixture are not updated.
    pub min_gaussian_weight: f32,
    /// Gaussians with a smaller occupancy are not updated.
    pub min_gaussian_occupancy: f32,
    /// Least variance.
    pub min_variance: f64,
    /// Removes Gaussians that are not updated, unless they are the last of their mixture.
    pub remove_low_count_gaussians: bool,
}

/// Results of an update.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UpdateReport {
    /// Growth of the objective function of all frames, Σ occ·g + S₁·m − ½ S₂·v.
    pub improvement: f64,
    /// Sum of all occupancies.
    pub count: f64,
    /// Variances below the floor. They are counted even if the update discards them.
    pub floored_variances: usize,
    /// Gaussians with at least one floored variance.
    pub floored_gaussians: usize,
    pub removed_gaussians: usize,
}

impl AmDiagGmm {
    /// Replaces `parts` of all mixtures by maximum-likelihood estimates. `warn` gets a sentence for each Gaussian with
    /// too little data. If the statistics have another dimension than the model, `warn` gets a sentence, and the model
    /// takes their dimension. It is an error if the statistics do not belong to this model, or lack parts.
    pub fn update(
        &mut self,
        stats: &ModelStats,
        parts: Parts,
        options: &UpdateOptions,
        warn: &mut dyn FnMut(String),
    ) -> Result<UpdateReport> {
        if stats.pdfs.len() != self.pdfs.len() {
            let (found, expected) = (stats.pdfs.len(), self.pdfs.len());
            return Err(Error::data(format!(
                "there are statistics of {found} pdfs, the model has {expected}"
            )));
        }
        let dim = stats.pdfs[0].dim();
        if dim != self.dim() {
            warn(format!(
                "Dimensions of accumulator {dim} and gmm {} do not match, resizing  GMM and setting to zero-mean, \
                 unit-variance.",
                self.dim()
            ));
            for pdf in &mut self.pdfs {
                *pdf = standard(pdf.weights.clone(), dim)?;
            }
        }
        let mut report = UpdateReport::default();
        for (number, (pdf, stats)) in self.pdfs.iter_mut().zip(&stats.pdfs).enumerate() {
            update(pdf, stats, parts, options, &mut report, warn)
                .map_err(|e| Error::data(format!("pdf {number}: {e}")))?;
        }
        Ok(report)
    }
}

/// Gaussians with mean 0 and variance 1.
fn standard(weights: Vec<f32>, dim: usize) -> Result<DiagGmm> {
    let mut inv_vars = DenseMatrix::new(weights.len(), dim);
    inv_vars.data.fill(1.0);
    let means = DenseMatrix::new(weights.len(), dim);
    DiagGmm::new(weights, means, inv_vars)
}

/// Does the same as [`AmDiagGmm::update`] for one mixture.
pub fn update(
    gmm: &mut DiagGmm,
    stats: &GmmStats,
    parts: Parts,
    options: &UpdateOptions,
    report: &mut UpdateReport,
    warn: &mut dyn FnMut(String),
) -> Result<()> {
    check(stats, gmm.num_gauss(), gmm.dim(), parts)?;
    let before = objective(gmm, stats);
    let limits = Limits {
        weight: options.min_gaussian_weight.into(),
        occupancy: options.min_gaussian_occupancy.into(),
        remove: options.remove_low_count_gaussians,
        index: "g",
    };
    let mut floored = Floored::default();
    let mut removed = Vec::new();
    for (g, fate) in limits.decide(stats, warn).into_iter().enumerate() {
        match fate {
            Fate::Remove => removed.push(g),
            Fate::Estimate { weight } | Fate::Keep { weight } if parts.weights => {
                gmm.weights[g] = weight as f32
            }
            _ => {}
        }
        let statistics = matches!(fate, Fate::Estimate { .. }).then_some(stats);
        estimate(gmm, statistics, g, parts, options.min_variance, &mut floored);
    }
    gmm.compute_gconsts()?;
    report.improvement += objective(gmm, stats) - before;
    report.count += stats.total();
    report.floored_variances += floored.variances;
    report.floored_gaussians += floored.gaussians;
    report.removed_gaussians += removed.len();
    if removed.is_empty() { Ok(()) } else { gmm.remove(&removed) }
}

/// An error unless statistics are of so many Gaussians of this dimension and have `parts`.
pub(crate) fn check<K: Kind>(stats: &GmmStats<K>, num_gauss: usize, dim: usize, parts: Parts) -> Result<()> {
    if (stats.num_gauss(), stats.dim()) != (num_gauss, dim) {
        return Err(Error::data(format!(
            "statistics of {} Gaussians of dimension {}, the mixture has {num_gauss} of dimension {dim}",
            stats.num_gauss(),
            stats.dim()
        )));
    }
    if !stats.parts().include(parts) {
        return Err(Error::data(format!(
            "Flags in argument do not match the active accumulators: {} asks for parts that statistics with flags {} lack",
            parts.bits(),
            stats.parts().bits()
        )));
    }
    Ok(())
}

/// The way an update treats a Gaussian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fate {
    /// There are enough data.
    Estimate {
        weight: f64,
    },
    /// Mean and covariance stay.
    Keep {
        weight: f64,
    },
    Remove,
}

/// Limits below which a Gaussian has too little data.
pub(crate) struct Limits {
    pub weight: f64,
    pub occupancy: f64,
    /// Removes such Gaussians, unless they are the last of their mixture.
    pub remove: bool,
    /// The name of the number of a Gaussian that is kept with `remove` false, in warnings.
    pub index: &'static str,
}

impl Limits {
    /// Decides for each Gaussian. `warn` gets a sentence for each with too little data.
    pub fn decide<K: Kind>(&self, stats: &GmmStats<K>, warn: &mut dyn FnMut(String)) -> Vec<Fate> {
        let (num_gauss, dim, total) = (stats.num_gauss(), stats.dim(), stats.total());
        let mut removed = 0;
        let decide = |(g, &occupancy): (usize, &f64)| {
            let weight = if total == 0.0 { 1.0 / num_gauss as f64 } else { occupancy / total };
            if occupancy > self.occupancy && weight > self.weight {
                return Fate::Estimate { weight };
            }
            if self.remove && removed + 1 < num_gauss {
                removed += 1;
                warn(format!(
                    "Too little data - removing Gaussian (weight {weight:.6}, occupation count {occupancy:.6}, vector size {dim})"
                ));
                return Fate::Remove;
            }
            let (reason, index) = match self.remove {
                true => ("it is the last Gaussian", "i"),
                false => ("remove-low-count-gaussians == false", self.index),
            };
            warn(format!(
                "Gaussian has too little data but not removing it because {reason}: {index} = {g}, occ = {}, weight = {}",
                num(occupancy),
                num(weight)
            ));
            Fate::Keep { weight: weight.max(self.weight) }
        };
        stats.occupancies().iter().enumerate().map(decide).collect()
    }
}

#[derive(Default)]
struct Floored {
    variances: usize,
    gaussians: usize,
}

/// Mean and variance of one Gaussian. Without statistics they stay. But as in the reference, the program converts the
/// parameters to natural ones and back, which may change last bits.
fn estimate(
    gmm: &mut DiagGmm,
    stats: Option<&GmmStats>,
    g: usize,
    parts: Parts,
    min_variance: f64,
    floored: &mut Floored,
) {
    let factor = stats.map(|stats| 1.0 / stats.occupancies()[g]);
    let mut floored_here = 0;
    for d in 0..gmm.dim() {
        let (mean_invvar, inv_var) = (gmm.means_invvars.get_mut(g, d), gmm.inv_vars.get_mut(g, d));
        let old_var = 1.0 / f64::from(*inv_var);
        let old_mean = f64::from(*mean_invvar) * old_var;
        let (mut mean, mut var) = (old_mean, old_var);
        if let (Some(stats), Some(factor)) = (stats, factor) {
            if stats.parts().means {
                mean = stats.sums.row(g)[d] * factor;
            }
            if stats.parts().variances {
                var = stats.products.row(g)[d] * factor - mean * mean;
                if !parts.means {
                    var += (old_mean - mean) * (old_mean - mean);
                }
                if var < min_variance {
                    var = min_variance;
                    floored_here += 1;
                }
            }
        }
        if parts.variances {
            *inv_var = 1.0 / var as f32;
        }
        if parts.means || parts.variances {
            let mean = if parts.means { mean } else { old_mean };
            *mean_invvar = mean as f32 * *inv_var;
        }
    }
    floored.variances += floored_here;
    floored.gaussians += usize::from(floored_here > 0);
}

/// The objective function of statistics: Σ occ·g + S₁·m − ½ S₂·v.
fn objective(gmm: &DiagGmm, stats: &GmmStats) -> f64 {
    let product = |a: &DenseMatrix<f64>, b: &Parameters| {
        let rows = (0..a.rows).flat_map(|g| a.row(g).iter().zip(b.row(g)));
        rows.map(|(a, b)| a * f64::from(b)).sum::<f64>()
    };
    // A Gaussian with weight 0 and without frames does not contribute.
    let constants = stats.occupancies().iter().zip(&gmm.gconsts).filter(|(occupancy, _)| **occupancy != 0.0);
    constants.map(|(occupancy, &gconst)| occupancy * f64::from(gconst)).sum::<f64>()
        + product(&stats.sums, &gmm.means_invvars)
        - 0.5 * product(&stats.products, &gmm.inv_vars)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing_models::{features, mixture};

    fn options() -> UpdateOptions {
        UpdateOptions {
            min_gaussian_weight: 1e-5,
            min_gaussian_occupancy: 2.0,
            min_variance: 0.001,
            remove_low_count_gaussians: true,
        }
    }

    /// Makes frames that each belong to one Gaussian.
    fn stats(counts: &[usize]) -> (GmmStats, DenseMatrix<f32>) {
        let frames = features(counts.iter().sum(), 3, 5);
        let mut stats = GmmStats::new(counts.len(), 3, Parts::ALL);
        let owners = counts.iter().enumerate().flat_map(|(g, &count)| vec![g; count]);
        for (t, owner) in owners.enumerate() {
            let mut posteriors = vec![0.0; counts.len()];
            posteriors[owner] = 1.0;
            stats.add(frames.row(t), &posteriors);
        }
        (stats, frames)
    }

    fn run(parts: &str, counts: &[usize], options: &UpdateOptions) -> (DiagGmm, UpdateReport, Vec<String>) {
        let (mut gmm, mut report, mut warnings) =
            (mixture(counts.len(), 3, 9), UpdateReport::default(), Vec::new());
        let parts = Parts::parse(parts).unwrap();
        update(&mut gmm, &stats(counts).0, parts, options, &mut report, &mut |text| warnings.push(text))
            .unwrap();
        (gmm, report, warnings)
    }

    #[test]
    fn means_variances_weights() {
        let (gmm, report, warnings) = run("mvw", &[4, 6], &options());
        let frames = stats(&[4, 6]).1;
        for (g, rows) in [(0, 0..4), (1, 4..10)] {
            let count = rows.len() as f64;
            assert!((f64::from(gmm.weights()[g]) - count / 10.0).abs() < 1e-6);
            for d in 0..3 {
                let column: Vec<f64> = rows.clone().map(|t| f64::from(frames.row(t)[d])).collect();
                let mean = column.iter().sum::<f64>() / count;
                let var = column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
                assert!((f64::from(gmm.mean(g)[d]) - mean).abs() < 1e-4);
                assert!((1.0 / f64::from(gmm.inv_vars().to_matrix().row(g)[d]) - var).abs() < 1e-4);
            }
        }
        assert!(report.improvement > 0.0 && report.count == 10.0 && warnings.is_empty());
    }

    #[test]
    fn only_what_is_asked_for_changes() {
        let old = mixture(2, 3, 9);
        let (gmm, ..) = run("m", &[4, 6], &options());
        assert_eq!((gmm.inv_vars(), gmm.weights()), (old.inv_vars(), old.weights()));
        let (gmm, report, _) = run("v", &[4, 6], &UpdateOptions { min_variance: 100.0, ..options() });
        assert!((0..2).all(|g| gmm.mean(g).iter().zip(old.mean(g)).all(|(a, b)| (a - b).abs() < 1e-5)));
        assert!(gmm.inv_vars().to_matrix().data.iter().all(|&value| value == 0.01));
        assert_eq!((report.floored_variances, report.floored_gaussians), (6, 2));
    }

    #[test]
    fn little_data() {
        let (gmm, report, warnings) = run("mvw", &[1, 0, 0], &options());
        assert_eq!((gmm.num_gauss(), report.removed_gaussians, warnings.len()), (1, 2, 3));
        assert!(
            warnings[0]
                .contains("removing Gaussian (weight 1.000000, occupation count 1.000000, vector size 3)")
        );
        assert!(warnings[2].ends_with("last Gaussian: i = 2, occ = 0, weight = 0"), "{}", warnings[2]);
        assert_eq!(gmm.weights(), [1.0]);
        let keep = UpdateOptions { remove_low_count_gaussians: false, ..options() };
        let (gmm, report, warnings) = run("mvw", &[1, 9], &keep);
        assert_eq!((gmm.num_gauss(), report.removed_gaussians, gmm.weights()[0]), (2, 0, 0.1));
        // The Gaussian stays, up to two roundings of its variance.
        let twice = |value: f32| 1.0 / ((1.0 / f64::from(value)) as f32);
        let expected: Vec<f32> = mixture(2, 3, 9).inv_vars().row(0).map(twice).collect();
        assert!(gmm.inv_vars().row(0).eq(expected));
        assert!(warnings[0].contains("remove-low-count-gaussians == false: g = 0, occ = 1, weight = 0.1"));
    }

    #[test]
    fn what_does_not_fit() {
        let mut report = UpdateReport::default();
        let mut gmm = mixture(2, 3, 9);
        let small = GmmStats::new(2, 3, Parts::parse("m").unwrap());
        let error = update(&mut gmm, &small, Parts::ALL, &options(), &mut report, &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("Flags"), "{error}");
        let other = GmmStats::new(3, 3, Parts::ALL);
        assert!(update(&mut gmm, &other, Parts::ALL, &options(), &mut report, &mut |_| ()).is_err());
    }
}
