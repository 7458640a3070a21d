//! Operations that change a lattice, or make one of two.
//!
//! - [`acoustic`]: new acoustic costs. [`push`], [`prune`], [`expansion`]: the same words with other weights, arcs or states.
//! - [`compose`], [`compose_states`], [`combine`], [`difference`]: two lattices, or a lattice and another automaton.
//! - [`cover`], [`equivalence`]: paths of a lattice, and comparisons by paths.

pub mod acoustic;
pub mod combine;
pub mod compose;
pub mod compose_states;
pub mod cover;
pub mod difference;
pub mod equivalence;
pub mod expansion;
pub mod prune;
pub mod push;
