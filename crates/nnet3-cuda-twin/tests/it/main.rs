//! The crate's integration tests: one program, since linking takes most of the time that each more would take.

mod conformance;
mod faults;
mod halves;
mod natural_gradient;
mod replay;
mod replicas;
mod resumed;
mod suite;
mod training;
mod transfers;
