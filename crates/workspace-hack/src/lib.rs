//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! One set of features of third-party crates; see `Cargo.toml`. It has no code.
