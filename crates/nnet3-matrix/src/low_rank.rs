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

/// Operations of such a device.
pub trait LowRank {
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
