//! The crate's integration tests: one program, since linking takes most of the time that each more would take.

mod reference;
#[path = "../support/replica_runs.rs"]
mod replica_runs;
mod replicas;
#[path = "../support/runs.rs"]
mod runs;
mod second_thread;
mod short_runs;
