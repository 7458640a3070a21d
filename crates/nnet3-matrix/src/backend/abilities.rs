//! What only some devices do. Whoever asks for an ability does the same by way of primitives where there is none.

use crate::low_rank::LowRank;
use crate::panels::PanelProducts;
use crate::sparse::SparseProducts;

/// Abilities that a device may have besides the primitives. See the conventions of [`crate::backend`].
pub trait Abilities {
    /// A device that updates low-rank estimates of Fisher matrices by itself; the host's are worked out by whoever has them.
    fn low_rank(&self) -> Option<&dyn LowRank> {
        None
    }
    /// A device that multiplies sparse rows; others get them dense.
    fn sparse(&self) -> Option<&dyn SparseProducts> {
        None
    }
    /// A device whose products are faster with weights that are arranged beforehand; others take them as they lie.
    fn panels(&self) -> Option<&dyn PanelProducts> {
        None
    }
}
