//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! The xconfig language: a network described layer by layer, and its expansion into the config lines that `nnet3-init`
//! reads. Layer types, keys, node names and line order are those of Kaldi's `steps/nnet3/xconfig_to_configs.py`.
//!
//! [`mod@line`] reads lines, [`descriptor`] their inputs. [`registry`] lists the layer types, each with the function that
//! writes its config lines. [`layers`] has a file for each family of them. [`network`] joins layers.
//!
//! This crate does no file access: matrices that the configs refer to are returned as text.

pub mod descriptor;
pub mod error;
pub mod layer;
pub mod layers;
pub mod line;
pub mod network;
pub mod registry;
pub mod value;

pub use error::{Error, Problem, Result};
pub use network::{Config, ExistingNode, Network, expand};
