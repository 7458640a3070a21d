//! Options and log lines of programs that estimate a mixture.

use kaldi_cli::log::{num, ratio};
use kaldi_gmm::full_update::FullUpdateOptions;
use kaldi_gmm::update::UpdateReport;
use nnet3::messages;

// Options of programs that estimate a mixture from statistics.
#[derive(clap::Args)]
pub struct EstimationOptions {
    #[command(flatten)]
    pub mode: nnet3::options::OutputMode,
    /// GMM parameters that will be updated: a subset of mvw.
    #[arg(long, default_value = "mvw")]
    pub update_flags: String,
    /// Increase number of mixture components to this overall target.
    #[arg(long, default_value_t = 0)]
    pub mix_up: i32,
    /// While mixing up, perturb means by standard deviation times this factor.
    #[arg(long, default_value_t = 0.01)]
    pub perturb_factor: f32,
}

// Limits of estimates of full covariances.
#[derive(clap::Args)]
pub struct FullLimits {
    /// Min Gaussian weight before we remove it.
    #[arg(long, default_value_t = 1e-5)]
    min_gaussian_weight: f32,
    /// Minimum count before we remove a Gaussian.
    #[arg(long, default_value_t = 100.0)]
    min_gaussian_occupancy: f32,
    /// Minimum eigenvalue of covariance matrix.
    #[arg(long, default_value_t = 0.001)]
    variance_floor: f64,
    /// Maximum condition number of covariance matrix (use it to floor).
    #[arg(long, default_value_t = 1e4)]
    max_condition: f64,
    /// If true, remove Gaussians that fall below the floors.
    #[arg(long, default_value_t = true)]
    remove_low_count_gaussians: bool,
}

impl FullLimits {
    /// The options of the library. An error for floors that leave no covariance positive definite.
    pub fn options(&self) -> anyhow::Result<FullUpdateOptions> {
        let (floor, condition) = (self.variance_floor, self.max_condition);
        if floor.is_nan() || floor <= 0.0 {
            anyhow::bail!("--variance-floor={floor}: expected a number above 0");
        }
        if condition.is_nan() || condition < 1.0 {
            anyhow::bail!("--max-condition={condition}: expected a number of at least 1");
        }
        Ok(FullUpdateOptions {
            min_gaussian_weight: self.min_gaussian_weight,
            min_gaussian_occupancy: self.min_gaussian_occupancy,
            variance_floor: floor,
            max_condition: condition,
            remove_low_count_gaussians: self.remove_low_count_gaussians,
        })
    }
}

/// Logs the growth of the objective function.
pub fn log_improvement(report: &UpdateReport) {
    messages::log(&format!(
        "Overall objective function improvement is {} per frame over {} frames.",
        ratio(report.improvement, report.count),
        num(report.count)
    ));
}
