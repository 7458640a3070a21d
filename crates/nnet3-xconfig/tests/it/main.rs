//! The crate's integration tests: one program, since linking takes most of the time that each more would take.

mod errors;
mod golden;
mod xconfig_docs;
