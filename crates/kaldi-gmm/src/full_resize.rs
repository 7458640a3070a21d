//! More or fewer Gaussians in a mixture with full covariances (`FullGmm::Split`, `fgmm-global-merge`).

use crate::covariance::cholesky;
use crate::error::{Error, Result};
use crate::full::FullGmm;
use crate::random::Chance;
use kaldi_numerics::symmetric::dense;
use nalgebra::DVector;

impl FullGmm {
    /// Splits the heaviest Gaussian until there are `target`. With Σ⁻¹ = L Lᵀ and normally distributed z, Σ⁻¹ μ of the halves
    /// becomes Σ⁻¹ μ ± `factor` · L z. Nothing happens if there are as many already.
    pub fn split(&mut self, target: usize, factor: f32, chance: &mut dyn Chance) -> Result<()> {
        while self.num_gauss() < target {
            let mut heaviest = 0;
            for g in 1..self.num_gauss() {
                if self.weights[g] > self.weights[heaviest] {
                    heaviest = g;
                }
            }
            self.weights[heaviest] /= 2.0;
            self.weights.push(self.weights[heaviest]);
            self.gconsts.push(0.0);
            self.inv_covars.push(self.inv_covars[heaviest].clone());
            let (dim, new) = (self.dim(), self.num_gauss() - 1);
            let start = heaviest * dim;
            self.means_invcovars.data.extend_from_within(start..start + dim);
            self.means_invcovars.rows += 1;
            let lower = cholesky(dense(&self.inv_covars[heaviest]), "inverse covariance")?.unpack();
            let normals = chance.normals(dim).into_iter().map(f64::from);
            let noise = lower * DVector::from_iterator(dim, normals);
            for (d, noise) in noise.iter().enumerate() {
                let step = factor * *noise as f32;
                self.means_invcovars.row_mut(new)[d] += step;
                self.means_invcovars.row_mut(heaviest)[d] -= step;
            }
        }
        self.compute_gconsts()
    }

    /// Removes Gaussians, in ascending order; then weights are divided by their sum.
    pub(crate) fn remove(&mut self, components: &[usize]) -> Result<()> {
        for (removed, &component) in components.iter().enumerate() {
            let row = component - removed;
            self.weights.remove(row);
            self.gconsts.remove(row);
            self.inv_covars.remove(row);
            let dim = self.dim();
            self.means_invcovars.data.drain(row * dim..(row + 1) * dim);
            self.means_invcovars.rows -= 1;
            let scale = 1.0 / self.weights.iter().sum::<f32>();
            self.weights.iter_mut().for_each(|weight| *weight *= scale);
        }
        self.compute_gconsts()
    }

    /// Appends the Gaussians of another mixture. Each mixture gets a weight by its number of Gaussians. An error if dimensions
    /// differ.
    pub fn append(&mut self, other: &FullGmm) -> Result<()> {
        if other.dim() != self.dim() {
            let (found, expected) = (other.dim(), self.dim());
            return Err(Error::data(format!(
                "the mixture has dimension {found}, those before it {expected}"
            )));
        }
        let total = (self.num_gauss() + other.num_gauss()) as f32;
        let (own, theirs) = (self.num_gauss() as f32 / total, other.num_gauss() as f32 / total);
        self.weights.iter_mut().for_each(|weight| *weight *= own);
        self.weights.extend(other.weights.iter().map(|weight| weight * theirs));
        self.gconsts.extend(&other.gconsts);
        self.means_invcovars.data.extend(&other.means_invcovars.data);
        self.means_invcovars.rows += other.num_gauss();
        self.inv_covars.extend_from_slice(&other.inv_covars);
        self.compute_gconsts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing_models::{Dice, full_mixture};

    #[test]
    fn splitting() {
        let old = full_mixture(2, 3, 4);
        let mut dice = Dice(fastrand::Rng::with_seed(5));
        let mut gmm = old.clone();
        gmm.split(2, 0.5, &mut dice).unwrap();
        assert_eq!(gmm, old);
        gmm.split(3, 0.5, &mut dice).unwrap();
        let heaviest = usize::from(old.weights()[1] > old.weights()[0]);
        assert_eq!(
            (gmm.weights()[2], gmm.weights()[heaviest]),
            (0.5 * old.weights()[heaviest], gmm.weights()[2])
        );
        assert_eq!(gmm.inv_covars()[2], old.inv_covars()[heaviest]);
        let z = Dice(fastrand::Rng::with_seed(5)).normals(3);
        let lower = cholesky(dense(&old.inv_covars()[heaviest]), "").unwrap().l();
        for d in 0..3 {
            let step = 0.5 * (0..=d).map(|e| lower[(d, e)] * f64::from(z[e])).sum::<f64>() as f32;
            let before = old.means_invcovars().row(heaviest)[d];
            assert!((gmm.means_invcovars().row(2)[d] - before - step).abs() < 1e-5);
            assert!((gmm.means_invcovars().row(heaviest)[d] - before + step).abs() < 1e-5);
        }
    }

    #[test]
    fn removing_and_appending() {
        let (mut gmm, other) = (full_mixture(2, 3, 4), full_mixture(1, 3, 9));
        let first = gmm.clone();
        gmm.append(&other).unwrap();
        assert!(
            (gmm.weights()[2] - 1.0 / 3.0).abs() < 1e-6
                && (gmm.weights()[0] - first.weights()[0] / 1.5).abs() < 1e-6
        );
        assert!((gmm.gconsts()[2] - other.gconsts()[0] - (1f32 / 3.0).ln()).abs() < 1e-5);
        gmm.remove(&[2]).unwrap();
        for (a, b) in gmm.weights().iter().zip(first.weights()) {
            assert!((a - b).abs() < 1e-6);
        }
        assert_eq!((gmm.inv_covars(), gmm.means_invcovars()), (first.inv_covars(), first.means_invcovars()));
        let error = gmm.append(&full_mixture(1, 2, 9)).unwrap_err().to_string();
        assert!(error.contains("dimension 2, those before it 3"), "{error}");
    }
}
