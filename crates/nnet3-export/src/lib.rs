//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Networks for other programs. ONNX models are made from compiled computations, with standard operators only.
//! Safetensors files are written and read.
//!
//! A model begins as requests. [`trace`] compiles them and follows the commands, and the result is a [`graph::Graph`]
//! of values. `components` expresses each type of component by operators. [`onnx`] writes the graph.
//!
//! [`safetensors`] does not know components. It copies the matrices and vectors of a model file by their positions.

#![forbid(unsafe_code)]

mod components;
pub mod error;
pub mod fields;
pub mod graph;
mod hoist;
mod live;
pub mod onnx;
pub mod safetensors;
mod trace;

pub use error::{Error, Result};
