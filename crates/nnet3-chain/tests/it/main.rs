//! The crate's integration tests: one program, since linking takes most of the time that each more would take.

mod chunks;
mod examples;
mod graphs;
mod objective;
mod paths;
mod phone_lm;
mod training;
