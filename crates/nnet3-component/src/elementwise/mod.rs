//! Functions of elements, or of a few columns of a row.

pub mod constant;
pub mod distribute;
pub mod groups;
pub mod nonlinear;
pub mod nonlinear_stats;
pub mod per_element;
mod plain;
pub mod scale_and_offset;

pub use plain::*;
