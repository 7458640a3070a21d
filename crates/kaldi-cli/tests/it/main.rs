//! The crate's integration tests: one program, since linking takes most of the time that each more would take.

mod cli;
mod common;
mod group;
#[cfg(target_os = "linux")] // The function before `main` exists there only.
mod libraries;
