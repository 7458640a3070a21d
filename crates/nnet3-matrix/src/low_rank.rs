//! Low-rank estimates of Fisher matrices that a device updates itself.
//!
//! The estimate is Qᵀ diag(d) Q + ρ I with n orthonormal rows in Q. W = E^{1/2} Q, where E has e_i = 1 / (β / d_i
//! + 1) and β = ρ (1 + α) + α/D Σ d. The state is d (n numbers), e (n) and ρ, one after another.

use crate::memory::Accumulator;
use crate::view::{View, ViewMut};

/// Places in the flags, a 1 × 4 matrix of zeros and ones. The flags, each 0 or 1: the numbers of an update are
/// finite; check orthogonality; apply the correction; make the rows again.
pub const FINITE: usize = 0;
pub const SUSPECT: usize = 1;
pub const CORRECT: usize = 2;
pub const RESTART: usize = 3;
/// Columns of the flags.
pub const FLAGS: usize = 4;

/// Sizes and weights of an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LowRankUpdate {
    /// The number of rows of the minibatch X.
    pub rows: usize,
    pub dim: usize,
    /// Weight of the minibatch.
    pub eta: f64,
    pub alpha: f64,
}

/// An update to compute. The inputs are `moments` (2n × n: L = Hᵀ H above K = J Jᵀ, with H = X Wᵀ and J = Hᵀ X) and
/// ‖X‖² = energies\[0\]. The results are the next state, and `a` (n × (n + 1)): W' = A (J + diag(carry) W), A being the
/// first n columns and `carry` the last.
pub struct Due<'a> {
    pub a: ViewMut<'a>,
    pub flags: ViewMut<'a>,
    pub state: &'a mut Accumulator,
    pub moments: View<'a>,
    pub energies: &'a mut Accumulator,
    pub update: LowRankUpdate,
}

/// One side of a product of rows, as the factor of its norm needs it: rows X of an estimate's dimension, of which
/// X - H W remains.
pub struct Observed<'a> {
    /// ‖X‖² = energies\[0\] + `more`, which becomes energies\[0\].
    pub energies: &'a mut Accumulator,
    pub more: f64,
    /// n × n: W Wᵀ.
    pub products: View<'a>,
    /// n × n: L = Hᵀ H.
    pub l: View<'a>,
    pub dim: usize,
    pub alpha: f64,
}

/// Relative rounding errors of L and of sums with it, if the factors of products are `f32`.
const ERROR_OF_SUMS: f64 = 1e-5;

/// Returns the smallest share of ‖X‖² that may remain in X - H W; products keep `bits` bits of
/// mantissa of their factors.
///
/// A direction of the estimate keeps (1 - e)² of its squared norm, and 1 - e = β / (d + β) with β ≥ α/D Σ d ≥ α/D d. So
/// 1 - e ≥ α / (D + α), and no X keeps less than (α / (D + α))². A smaller number is rounding: of ‖X‖² - 2 tr(L) + tr(W Wᵀ L)
/// the last two have rounded factors, each element of L has two of them. With a rounding error u of a
/// factor, half of the last bit, both traces together are off by at most 8 u ‖X‖². With this floor the factor √(‖X‖² / ‖X - H W‖²) is never above (D + α) / α. Where the
/// floor acts, the step is too short, never too long.
pub fn least_share(dim: usize, alpha: f64, bits: u32) -> f64 {
    let unit = 0.5 / f64::from(1u32 << bits);
    let kept = alpha / (dim as f64 + alpha);
    (kept * kept).max(ERROR_OF_SUMS).max(8.0 * unit)
}

/// Operations of such a device.
pub trait LowRank {
    /// factor = the product of both sides' √(‖X‖² / ‖X - H W‖²), with ‖X - H W‖² = ‖X‖² - 2 tr(L) + tr(W Wᵀ L), in `f64`, but at
    /// least [`least_share`] of ‖X‖². 1 for X = 0. `factor` is 1 × 1.
    fn low_rank_factor(&self, factor: ViewMut<'_>, sides: [Observed<'_>; 2]);
    /// Makes independent updates side by side; the results are those of one after the other. If a number is not finite,
    /// the state stays. Sets the first two flags of each.
    fn low_rank_update(&self, due: &mut [Due<'_>]);
    /// Computes the correction C from `products` = W Wᵀ: adding C W makes Q's rows orthonormal again. The device does
    /// so if the flags ask for it, or if the update was finite and `careful`. Sets the last two flags.
    fn low_rank_correction(
        &self,
        c: ViewMut<'_>,
        flags: ViewMut<'_>,
        state: &mut Accumulator,
        products: View<'_>,
        careful: bool,
    );
    /// Makes Q's rows orthonormal one after the other, if the last flag asks for that.
    fn low_rank_restart(&self, w: ViewMut<'_>, flags: View<'_>, state: &mut Accumulator);
}
