//! Operations, one a file. Each says what it asks of its FSTs; unless it says otherwise, any FST will do.

pub mod components;
mod concat;
mod connect;
mod order;
mod remove_epsilons;

pub use concat::concatenate;
pub use connect::connect;
pub use order::{breadth_first, state_times, topological_order};
pub use remove_epsilons::remove_epsilons;
