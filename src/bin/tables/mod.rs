//! Matrices and vectors in tables: copying, sizes, sums.

mod label_counts;
mod sums;

include!(concat!(env!("OUT_DIR"), "/tables.rs"));
