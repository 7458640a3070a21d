//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Keyword search in lattices (Can and Saraçlar, "Lattice indexing for spoken term detection", 2011).
//!
//! [`index`] makes an index of a lattice. [`clusters`] tells occurrences of a word apart. [`factors`] are all pieces of paths with
//! their probabilities and times. [`search`] finds keywords in an index;
//! [`proxies`] finds words that sound like unknown ones, and [`sounds`] makes what it needs of a lexicon. [`term_weighted`] compares hits with a reference. [`weight`] is the
//! weight of indices in files.

pub mod clusters;
pub mod error;
pub mod factors;
pub mod index;
pub mod proxies;
pub mod search;
pub mod sounds;
pub mod term_weighted;
pub mod weight;

pub use error::{Error, Result};
pub use index::{Index, IndexOptions, Indexed, index_lattice, union_of_indices};
pub use search::{Hit, Searcher};
pub use weight::HitWeight;
