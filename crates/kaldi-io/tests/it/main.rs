//! The crate's integration tests: one program, since linking takes most of the time that each more would take.

mod basic;
mod common;
mod files;
mod holders;
mod matrices;
mod robustness;
mod tables;
