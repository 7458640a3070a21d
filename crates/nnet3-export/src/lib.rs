//! Networks for other programs: ONNX models, made from compiled computations with operators of the standard only, and
//! safetensors files, both ways.
//!
//! A model begins as requests. [`trace`] compiles them and follows the commands, which gives a [`graph::Graph`] of values;
//! `components` says what each type of component is in terms of operators. [`onnx`] writes the graph.
//!
//! [`safetensors`] does not look into components: it takes the matrices and vectors of a model file from their places.

#![forbid(unsafe_code)]

mod components;
pub mod error;
pub mod fields;
pub mod graph;
mod live;
pub mod onnx;
pub mod safetensors;
mod trace;

pub use error::{Error, Result};
