//! Lattices as they are, and what can be said of one.
//!
//! - [`weight`], [`lattice`], [`store`]: lattices, their two kinds, their files.
//! - [`order`], [`times`]: topological order, and the frames of states. [`costs`]: acoustic costs by frame.
//! - [`path`], [`posterior`], [`accuracy`]: best paths, probabilities of arcs, expected accuracies of frames.

pub mod accuracy;
pub mod costs;
pub mod lattice;
pub mod order;
pub mod path;
pub mod posterior;
pub mod store;
pub mod times;
pub mod weight;
