//! Operations, one a file. Each says what it asks of its FSTs; unless it says otherwise, any FST will do.

pub mod components;
mod compose;
mod concat;
mod connect;
mod determinize;
mod minimize;
mod order;
mod remove_epsilons;

pub use compose::{SortedAcceptor, compose};
pub use concat::concatenate;
pub use connect::connect;
pub use determinize::determinize;
pub use minimize::minimize;
pub use order::{breadth_first, state_times, topological_order};
pub use remove_epsilons::remove_epsilons;
