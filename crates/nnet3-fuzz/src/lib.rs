//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Hostile input for every reader. A [`Target`] reads bytes in one format. For any bytes, the result must be a value or
//! an error. A panic is a fault, and so is memory out of proportion to the input.
//!
//! The targets run in three ways: on mutations of a generated corpus, with any toolchain (`cargo run --release -p
//! nnet3-fuzz`); under libFuzzer (`fuzz/`, see its README); and briefly as tests.

pub mod mutate;
pub mod targets;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

pub use targets::{TARGETS, find};

/// Counts the bytes that reading takes.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A format, and how to read it.
pub struct Target {
    pub name: &'static str,
    /// Reads the input and throws the result away.
    pub read: fn(&[u8]),
    /// Valid inputs to begin with.
    pub corpus: fn() -> Vec<Vec<u8>>,
    /// Bytes of memory that an input may take, for each of its bytes and to begin with.
    pub memory: (usize, usize),
}

impl Target {
    /// Reads one input. Panics if that takes more memory than allowed, all allocations together.
    pub fn run(&self, input: &[u8]) {
        let region = Region::new(ALLOCATOR);
        (self.read)(input);
        let taken = region.change().bytes_allocated;
        let (per_byte, base) = self.memory;
        assert!(
            taken <= base + per_byte * input.len(),
            "{taken} bytes of memory for {} of input",
            input.len()
        );
    }
}
