//! Tests that run networks, in one program: linking takes most of the time that each more would take.

#![allow(clippy::disallowed_methods)] // A test may panic if there is no thread.

mod lowering;
