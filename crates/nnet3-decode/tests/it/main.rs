//! The crate's integration tests: one program, since linking takes most of the time that each more would take.

mod decoder;
mod figures;
mod lattices;
