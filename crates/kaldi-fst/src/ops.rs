//! Operations, one a file. Each says what it asks of its FSTs; unless it says otherwise, any FST will do.

mod arc_sort;
pub mod components;
mod compose;
mod compose_transducers;
mod concat;
mod connect;
mod determinize;
mod determinize_star;
mod labels;
mod minimize;
mod minimize_encoded;
mod order;
mod push_special;
mod remove_epsilons;
mod remove_epsilons_locally;
mod reverse;
mod semiring;
mod stochastic;
mod topological_sort;

pub use arc_sort::sort_arcs;
pub use compose::{SortedAcceptor, compose};
pub use compose_transducers::compose_transducers;
pub use concat::concatenate;
pub use connect::connect;
pub use determinize::determinize;
pub use determinize_star::{DELTA, DeterminizeStar, determinize_star};
pub use labels::{
    Side, add_loops, invert, penalize_labels, project, relabel, remove_arcs_with_labels, remove_labels,
};
pub use minimize::minimize;
pub use minimize_encoded::minimize_encoded;
pub use order::{breadth_first, state_times, topological_order};
pub use push_special::push_special;
pub use remove_epsilons::remove_epsilons;
pub use remove_epsilons_locally::remove_epsilons_locally;
pub use reverse::reverse;
pub use semiring::Semiring;
pub use stochastic::{LeavingCosts, leaving_costs};
pub use topological_sort::topological_sort;
