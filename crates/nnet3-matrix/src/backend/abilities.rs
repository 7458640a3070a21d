//! Optional abilities. If a device returns `None`, the caller uses the ordinary primitives.

use super::Backend;
use crate::element::Element;
use crate::low_rank::LowRank;
use crate::panels::PanelProducts;
use crate::sparse::SparseProducts;

/// Abilities that a device may have besides the primitives. See the conventions of [`crate::backend`].
pub trait Abilities {
    /// The form in which a computation should keep values and derivatives between layers.
    fn between_layers(&self) -> Element {
        Element::Float
    }
    /// A device that updates low-rank estimates of Fisher matrices itself. On the host, the caller computes the
    /// updates.
    fn low_rank(&self) -> Option<&dyn LowRank> {
        None
    }
    /// A device that multiplies sparse rows; others get them dense.
    fn sparse(&self) -> Option<&dyn SparseProducts> {
        None
    }
    /// A device with faster products for weights that are arranged beforehand. Other devices use plain matrices.
    fn panels(&self) -> Option<&dyn PanelProducts> {
        None
    }
    /// A device with the same memory that does not round factors of products, for work that needs more than bf16. `None`
    /// if there is no other device.
    fn in_floats(&self) -> Option<&dyn Backend> {
        None
    }
    /// Says how products are computed, for measurements.
    fn kernel(&self) -> String {
        String::new()
    }
}
