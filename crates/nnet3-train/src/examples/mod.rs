//! Examples: from features and targets to minibatches.
//!
//! - [`example`], [`example_table`]: examples and their tables. [`sequence`]: those with a supervision of whole sequences.
//! - [`split`], [`split_table`], [`chunk`]: utterances in chunks; [`ranges`]: chunks of speakers.
//! - [`augment`], [`copy`], [`shuffle`], [`subset`], [`finite`]: examples of examples.
//! - [`merge`], [`merge_sizes`]: minibatches.

pub mod augment;
pub mod chunk;
pub mod copy;
pub mod example;
pub mod example_table;
pub mod finite;
pub mod merge;
pub mod merge_sizes;
pub mod ranges;
pub mod sequence;
pub mod shuffle;
pub mod split;
pub mod split_table;
pub mod subset;
