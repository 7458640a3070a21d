//! The crate's integration tests: one program, since linking takes most of the time that each more would take.

mod component_docs;
mod component_registry;
mod computations;
mod network_errors;
mod support;
