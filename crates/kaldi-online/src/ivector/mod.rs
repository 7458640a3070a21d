//! I-vectors: what is characteristic of a speaker and a channel, as a vector that is estimated again and again while sound
//! arrives (`online2/online-ivector-feature.cc`).

mod model;
mod select;
mod splice;
mod state;
mod stream;

pub use model::{IvectorFiles, IvectorModel, IvectorOptions};
pub use select::GaussianSelector;
pub use splice::Splice;
pub use state::AdaptationState;
pub use stream::{Diagnostics, IvectorStream};

#[cfg(test)]
pub(crate) use stream::tests::Parts;
