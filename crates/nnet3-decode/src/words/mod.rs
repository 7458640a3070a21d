//! Words and phones of lattices.
//!
//! - [`align`]: arcs that are one word or one phone. [`phones`], [`pronunciation`]: phones in the place of words, and both.
//! - [`mbr`]: the words with the fewest expected errors, and confidences.
//! - [`oracle`], [`edit_distance`]: errors beside a reference.

pub mod align;
pub mod edit_distance;
pub mod mbr;
pub mod oracle;
pub mod phones;
pub mod pronunciation;
