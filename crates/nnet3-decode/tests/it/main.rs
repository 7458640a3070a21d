//! The crate's integration tests: one program, since linking takes most of the time that each more would take.

mod composed;
mod composition;
mod decoder;
mod figures;
mod grammar;
mod incremental;
mod lattices;
mod operations;
