//! Files: loops over tables, and objects of several kinds in tables and files.

pub mod fsts;
pub mod gaussians;
pub mod ivectors;
pub mod lattices;
pub mod tables;
pub mod trees;
pub mod utterances;
