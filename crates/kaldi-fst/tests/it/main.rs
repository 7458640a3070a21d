//! The crate's integration tests: one program, since linking takes most of the time that each more would take.

mod files;
mod graph_operations;
mod look_ahead;
mod openfst_operations;
mod operations;
mod rustfst_oracle;
mod state_numbers;
