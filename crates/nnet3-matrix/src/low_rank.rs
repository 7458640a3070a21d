//! Low-rank estimates of Fisher matrices that a device updates by itself.
//!
//! The estimate is Qᵀ diag(d) Q + ρ I with n orthonormal rows in Q; W = E^{1/2} Q, E with e_i = 1 / (β / d_i + 1),
//! β = ρ (1 + α) + α/D Σ d. The state is d (n numbers), e (n) and ρ, one after another.

use crate::memory::Accumulator;
use crate::view::{View, ViewMut};

/// Places in the flags, a 1 × 4 matrix of zeros and ones: an update's numbers are finite, orthogonality is to be looked at, the
/// correction is to be made, the rows are to be made anew.
pub const FINITE: usize = 0;
pub const SUSPECT: usize = 1;
pub const CORRECT: usize = 2;
pub const RESTART: usize = 3;
/// Columns of the flags.
pub const FLAGS: usize = 4;

/// What an update is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LowRankUpdate {
    /// The number of rows of the minibatch X.
    pub rows: usize,
    pub dim: usize,
    /// Weight of the minibatch.
    pub eta: f64,
    pub alpha: f64,
}

/// An update that is due: with `moments` (2n × n: L = Hᵀ H above K = J Jᵀ, with H = X Wᵀ and J = Hᵀ X) and ‖X‖² =
/// energies\[0\] it makes the next state, and `a` (n × (n + 1)): W' = A (J + diag(carry) W), A being the first n columns and
/// `carry` the last.
pub struct Due<'a> {
    pub a: ViewMut<'a>,
    pub flags: ViewMut<'a>,
    pub state: &'a mut Accumulator,
    pub moments: View<'a>,
    pub energies: &'a mut Accumulator,
    pub update: LowRankUpdate,
}

/// What such a device can do.
pub trait LowRank {
    /// Makes updates, which have nothing in common, side by side; the results are those of one after the other. Where anything is
    /// not finite the state stays. Sets the first two flags of each.
    fn low_rank_update(&self, due: &mut [Due<'_>]);
    /// From `products` = W Wᵀ what has to be added to the identity to make Q's rows orthonormal again by C W, if the flags ask for
    /// that, or if the update was finite and `careful`. Sets the last two flags.
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
