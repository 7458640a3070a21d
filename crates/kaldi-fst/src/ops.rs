//! Operations, one in each file. Each comment gives its requirements. Without a requirement, any FST is valid.

mod arc_sort;
mod compare;
pub mod components;
mod compose;
mod compose_look_ahead;
mod compose_transducers;
mod concat;
mod connect;
mod determinize;
mod determinize_labels;
mod determinize_star;
mod difference;
mod encode;
mod equivalent;
mod labels;
mod look_ahead;
mod map_arcs;
mod minimize;
mod minimize_encoded;
mod minimize_labels;
mod ngrams;
mod normalize_epsilons;
mod order;
mod product;
mod prune;
mod push;
mod push_special;
mod reference_order;
mod remove_epsilons;
mod remove_epsilons_locally;
mod replace;
mod reverse;
mod semiring;
mod shortest_distance;
mod shortest_path;
mod stochastic;
mod sums;
mod synchronize;
mod topological_sort;
mod union;
mod unique_paths;

pub use arc_sort::sort_arcs;
pub use compare::{equal, isomorphic};
pub use compose::{SortedAcceptor, compose};
pub use compose_look_ahead::compose_look_ahead;
pub use compose_transducers::compose_transducers;
pub use concat::concatenate;
pub use connect::connect;
pub use determinize::{
    Determinized, Empty, SubsetRules, determinize, determinize_pairs, determinize_rounded,
    determinize_with_epsilons,
};
pub use determinize_labels::{Determinize, determinize_labels};
pub use determinize_star::{Ambiguity, DELTA, DeterminizeStar, determinize_star};
pub use difference::difference;
pub use encode::Codes;
pub use equivalent::{RandomComparison, equivalent, randomly_equivalent};
pub use labels::{
    Side, add_loops, invert, penalize_labels, project, relabel, remove_arcs_with_labels, remove_labels,
};
pub use look_ahead::{Relabelled, look_ahead};
pub use map_arcs::{MapArcs, map_arcs};
pub use minimize::{minimize, minimize_pairs};
pub use minimize_encoded::minimize_encoded;
pub use minimize_labels::minimize_labels;
pub use ngrams::ngrams;
pub use normalize_epsilons::normalize_epsilons;
pub use order::{breadth_first, state_times, topological_order};
pub use prune::prune;
pub use push::{Push, push, reweight};
pub use push_special::push_special;
pub use remove_epsilons::{remove_epsilon_arcs, remove_epsilons};
pub use remove_epsilons_locally::remove_epsilons_locally;
pub use replace::replace;
pub use reverse::{reverse, reverse_without_start};
pub use semiring::Semiring;
pub use shortest_distance::{distances_from_start, distances_to_end};
pub use shortest_path::{shortest_paths, union_of_paths};
pub use stochastic::{LeavingCosts, leaving_costs};
pub use sums::{costs_from_start, costs_to_end};
pub use synchronize::synchronize;
pub use topological_sort::topological_sort;
pub use union::{closure, joined, union};
pub use unique_paths::unique_shortest_paths;
