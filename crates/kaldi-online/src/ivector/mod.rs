//! I-vectors: what is characteristic of a speaker and a channel, as a vector that is estimated again and again while sound
//! arrives (`online2/online-ivector-feature.cc`).

mod extractor;
mod model;
mod select;
mod solve;
mod splice;
mod state;
mod stats;
mod stream;

pub use extractor::{IvectorExtractor, IvectorTerms};
pub use model::{IvectorFiles, IvectorModel, IvectorOptions};
pub use select::GaussianSelector;
pub use solve::Solution;
pub use splice::Splice;
pub use state::AdaptationState;
pub use stats::IvectorStats;
pub use stream::{Diagnostics, IvectorStream};

#[cfg(test)]
pub(crate) use stream::tests::Parts;
