//! Affine functions: of whole rows, of blocks, of several times.

pub mod arranged;
pub mod block_affine;
mod dense;
pub mod fixed;
pub mod linear;
pub mod repeated;
mod spliced;
pub mod tdnn;
pub mod tdnn_keys;
mod weights;

pub use dense::*;
pub use weights::Weights;

use super::Component;
use nnet3_matrix::View;

/// The linear part and the bias of a component that only multiplies by the one and adds the other. Such a component
/// accepts sparse rows.
pub fn as_sparse_affine(component: &dyn Component) -> Option<(View<'_>, Option<View<'_>>)> {
    match component.as_affine() {
        Some((Weights::Plain(linear), bias)) => Some((linear, Some(bias))),
        Some((Weights::Panels(_), _)) => None,
        None => {
            component.downcast_ref::<linear::Linear>().map(|linear| (linear.linear_params().view(), None))
        }
    }
}
