//! More or fewer Gaussians in a mixture (`DiagGmm::Split` and `Merge`).

use crate::error::{Error, Result};
use crate::gmm::DiagGmm;
use crate::parameters::Parameters;
use crate::random::{Rand, gauss};
use kaldi_io::DenseMatrix;

/// Tolerance for the sum of weights. If it differs more from 1, it is normalised when a mixture becomes one Gaussian.
const WEIGHT_TOLERANCE: f64 = 1e-6;

impl DiagGmm {
    /// Splits the heaviest Gaussian until there are `target` Gaussians. Both halves move apart by `factor` standard
    /// deviations times normally distributed numbers, one for each dimension. Does not change a mixture of at least
    /// `target` Gaussians.
    pub fn split(&mut self, target: usize, factor: f32, rand: Rand<'_>) -> Result<()> {
        let (mut means, mut inv_vars) = (self.means_invvars.to_matrix(), self.inv_vars.to_matrix());
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
            for matrix in [&mut means, &mut inv_vars] {
                let start = heaviest * matrix.cols;
                matrix.data.extend_from_within(start..start + matrix.cols);
                matrix.rows += 1;
            }
            let new = self.num_gauss() - 1;
            let steps: Vec<f32> =
                inv_vars.row(heaviest).iter().map(|inv_var| gauss(rand) * inv_var.sqrt()).collect();
            add_scaled(means.row_mut(new), factor, &steps);
            add_scaled(means.row_mut(heaviest), -factor, &steps);
        }
        (self.means_invvars, self.inv_vars) = (Parameters::from(&means), Parameters::from(&inv_vars));
        self.compute_gconsts()
    }

    /// Merges Gaussians until there are `target` Gaussians. Each step merges the pair with the smallest loss of
    /// likelihood. Does not change a mixture of at most `target` Gaussians. A target of 0 is an error.
    pub fn merge(&mut self, target: usize) -> Result<()> {
        if target == 0 {
            return Err(Error::data("a mixture cannot be merged to 0 Gaussians"));
        }
        if self.num_gauss() <= target {
            return Ok(());
        }
        let mut moments: Vec<Moments> = (0..self.num_gauss()).map(|g| Moments::of(self, g)).collect();
        let merged = if target == 1 { vec![merge_all(&moments)] } else { merge_pairs(&mut moments, target) };
        let rows: Vec<(Vec<f32>, Vec<f32>)> = merged.iter().map(Moments::natural).collect();
        let (means, inv_vars): (Vec<Vec<f32>>, Vec<Vec<f32>>) = rows.into_iter().unzip();
        *self = DiagGmm::new(
            merged.iter().map(|moments| moments.weight as f32).collect(),
            DenseMatrix::from_rows(&means),
            DenseMatrix::from_rows(&inv_vars),
        )?;
        Ok(())
    }
}

/// Adds `factor` times x, rounded as by OpenBLAS's `saxpy`: products in whole groups of 32 elements are not rounded.
fn add_scaled(to: &mut [f32], factor: f32, x: &[f32]) {
    let whole = to.len() / 32 * 32;
    for (i, (to, &x)) in to.iter_mut().zip(x).enumerate() {
        *to = if i < whole { factor.mul_add(x, *to) } else { *to + factor * x };
    }
}

/// A Gaussian as weight, mean and mean square.
#[derive(Debug, Clone)]
struct Moments {
    weight: f64,
    mean: Vec<f64>,
    square: Vec<f64>,
}

impl Moments {
    fn of(gmm: &DiagGmm, g: usize) -> Moments {
        let (mut mean, mut square) = (Vec::new(), Vec::new());
        for (mean_invvar, inv_var) in gmm.means_invvars.row(g).zip(gmm.inv_vars.row(g)) {
            let var = 1.0 / f64::from(inv_var);
            let m = f64::from(mean_invvar) * var;
            mean.push(m);
            square.push(var + m * m);
        }
        Moments { weight: gmm.weights[g].into(), mean, square }
    }

    /// The moments of two Gaussians together.
    fn with(&self, other: &Moments) -> Moments {
        let weight = self.weight + other.weight;
        let (a, b) = if weight > 0.0 { (self.weight / weight, other.weight / weight) } else { (0.5, 0.5) };
        let mix = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| a * x + b * y).collect();
        Moments { weight, mean: mix(&self.mean, &other.mean), square: mix(&self.square, &other.square) }
    }

    fn variances(&self) -> impl Iterator<Item = f64> {
        self.square.iter().zip(&self.mean).map(|(square, mean)| square - mean * mean)
    }

    /// −½ Σ ln var.
    fn log_density(&self) -> f64 {
        -0.5 * self.variances().map(f64::ln).sum::<f64>()
    }

    /// Means over variances, and inverse variances.
    fn natural(&self) -> (Vec<f32>, Vec<f32>) {
        let values =
            self.variances().zip(&self.mean).map(|(var, mean)| ((mean / var) as f32, (1.0 / var) as f32));
        values.unzip()
    }
}

/// Merges all Gaussians into one. As in the reference, mean and mean square are weighted sums. If the sum of the
/// weights is not 1 (as after boosting), they are multiplied by it once more.
fn merge_all(moments: &[Moments]) -> Moments {
    let dim = moments[0].mean.len();
    let mut sum = Moments { weight: 0.0, mean: vec![0.0; dim], square: vec![0.0; dim] };
    for Moments { weight, mean, square } in moments {
        sum.weight += weight;
        sum.mean.iter_mut().zip(mean).for_each(|(sum, x)| *sum += weight * x);
        sum.square.iter_mut().zip(square).for_each(|(sum, x)| *sum += weight * x);
    }
    if (sum.weight - 1.0).abs() > WEIGHT_TOLERANCE * (sum.weight + 1.0) {
        let weight = sum.weight;
        sum.mean.iter_mut().chain(&mut sum.square).for_each(|x| *x *= weight);
        sum.weight = 1.0;
    }
    sum
}

/// Merges the cheapest pair until there are `target`.
fn merge_pairs(moments: &mut [Moments], target: usize) -> Vec<Moments> {
    let mut densities: Vec<f64> = moments.iter().map(Moments::log_density).collect();
    // The cost of merging i with each j < i; `None` for Gaussians that are gone.
    let gain = |moments: &[Moments], densities: &[f64], i: usize, j: usize| {
        let (a, b) = (&moments[i], &moments[j]);
        (a.weight + b.weight) * a.with(b).log_density() - a.weight * densities[i] - b.weight * densities[j]
    };
    let count = moments.len();
    let row = |i: usize| (0..i).map(|j| gain(moments, &densities, i, j)).collect();
    let mut gains: Vec<Vec<f64>> = (0..count).map(row).collect();
    let mut here = vec![true; count];
    for _ in target..count {
        let mut best: Option<(usize, usize)> = None;
        for i in (0..count).filter(|&i| here[i]) {
            for j in (0..i).filter(|&j| here[j]) {
                if best.is_none_or(|(a, b)| gains[i][j] > gains[a][b]) {
                    best = Some((i, j));
                }
            }
        }
        let Some((i, j)) = best else { break };
        moments[i] = moments[i].with(&moments[j]);
        densities[i] = moments[i].log_density();
        here[j] = false;
        for k in (0..count).filter(|&k| here[k] && k != i) {
            gains[i.max(k)][i.min(k)] = gain(moments, &densities, i.max(k), i.min(k));
        }
    }
    moments.iter().zip(here).filter(|(_, here)| *here).map(|(moments, _)| moments.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing_models::mixture;

    /// Mean and mean square of a mixture.
    fn moments(gmm: &DiagGmm) -> (f64, Vec<f64>) {
        let parts: Vec<Moments> = (0..gmm.num_gauss()).map(|g| Moments::of(gmm, g)).collect();
        let sum =
            |d: usize, of: fn(&Moments) -> &Vec<f64>| parts.iter().map(|m| m.weight * of(m)[d]).sum::<f64>();
        let values = (0..gmm.dim()).flat_map(|d| [sum(d, |m| &m.mean), sum(d, |m| &m.square)]).collect();
        (parts.iter().map(|m| m.weight).sum(), values)
    }

    fn close(a: &DiagGmm, b: &DiagGmm) {
        let ((weight_a, a), (weight_b, b)) = (moments(a), moments(b));
        assert!((weight_a - weight_b).abs() < 1e-5);
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-4 * (1.0 + b.abs())), "{a:?} {b:?}");
    }

    #[test]
    fn splitting() {
        let old = mixture(2, 4, 3);
        let mut gmm = old.clone();
        gmm.split(5, 0.0, &mut || 12345).unwrap();
        assert_eq!(gmm.num_gauss(), 5);
        close(&gmm, &old);
        let mut numbers = [i32::MAX / 2; 8].into_iter();
        let mut gmm = old.clone();
        gmm.split(3, 0.5, &mut || numbers.next().unwrap()).unwrap();
        assert_eq!(numbers.next(), None, "two for each dimension");
        let heaviest = usize::from(old.weights()[1] > old.weights()[0]);
        let (old_means, means) = (old.means_invvars().to_matrix(), gmm.means_invvars().to_matrix());
        let step = 0.5 * -(2.0 * 2f32.ln()).sqrt() * old.inv_vars().to_matrix().row(heaviest)[1].sqrt();
        assert!((means.row(2)[1] - old_means.row(heaviest)[1] - step).abs() < 1e-5);
        assert!((means.row(heaviest)[1] - old_means.row(heaviest)[1] + step).abs() < 1e-5);
    }

    #[test]
    fn merging_keeps_moments() {
        let old = mixture(5, 4, 3);
        for target in 1..5 {
            let mut gmm = old.clone();
            gmm.merge(target).unwrap();
            assert_eq!(gmm.num_gauss(), target);
            close(&gmm, &old);
        }
        assert!(old.clone().merge(0).is_err());
    }

    #[test]
    fn near_gaussians_are_merged_first() {
        let means = DenseMatrix::from_rows(&[[0.0f32], [5.0], [0.1], [9.0]]);
        let gmm = DiagGmm::new(vec![0.25; 4], means, DenseMatrix::from_rows(&[[1.0f32]; 4])).unwrap();
        let mut merged = gmm.clone();
        merged.merge(3).unwrap();
        // 2 and 0 become one in the place of 2.
        assert_eq!(merged.weights(), [0.25, 0.5, 0.25]);
        assert!((merged.mean(1)[0] - 0.05).abs() < 1e-6 && merged.mean(0)[0] == 5.0);
    }

    #[test]
    fn weights_that_do_not_sum_to_one() {
        let means = DenseMatrix::from_rows(&[[0.2f32], [0.2]]);
        let mut gmm = DiagGmm::new(vec![1.0, 0.5], means, DenseMatrix::from_rows(&[[1.0f32]; 2])).unwrap();
        gmm.merge(1).unwrap();
        // Mean 0.2·1.5·1.5, mean square 1.04·1.5·1.5.
        let var = 1.04 * 2.25 - 0.45 * 0.45;
        assert!((1.0 / gmm.inv_vars().to_matrix().data[0] - var).abs() < 1e-4 && gmm.weights() == [1.0]);
    }
}
