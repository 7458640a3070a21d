//! Matrices and vectors in tables: copying, sizes, sums.

mod sums;

include!(concat!(env!("OUT_DIR"), "/tables.rs"));
