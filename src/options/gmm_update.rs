//! Limits of estimates of mixtures with diagonal covariances.

use kaldi_gmm::update::UpdateOptions;

// Of programs that estimate such mixtures.
#[derive(clap::Args, Clone, Debug)]
pub struct UpdateLimits {
    /// Min Gaussian weight before we remove it.
    #[arg(long, default_value_t = 1e-5)]
    min_gaussian_weight: f32,
    /// Minimum occupancy to update a Gaussian.
    #[arg(long, default_value_t = 10.0)]
    min_gaussian_occupancy: f32,
    /// Variance floor (absolute variance).
    #[arg(long, default_value_t = 0.001)]
    min_variance: f64,
    /// If true, remove Gaussians that fall below the floors.
    #[arg(long, default_value_t = true)]
    pub remove_low_count_gaussians: bool,
}

impl UpdateLimits {
    /// Least occupancy of a Gaussian that is updated.
    pub fn min_occupancy(&self) -> f32 {
        self.min_gaussian_occupancy
    }

    /// The options of the library.
    pub fn options(&self) -> UpdateOptions {
        UpdateOptions {
            min_gaussian_weight: self.min_gaussian_weight,
            min_gaussian_occupancy: self.min_gaussian_occupancy,
            min_variance: self.min_variance,
            remove_low_count_gaussians: self.remove_low_count_gaussians,
        }
    }
}
