//! Groups of options that several programs take, each a struct to be flattened into a program's own.
//!
//! The structs have plain comments: clap would show a doc comment as the description of the program.

pub mod chain;
pub mod cmvn;
pub mod combine;
pub mod compute;
pub mod cpu_math;
pub mod device;
pub mod discriminative;
pub mod edit;
pub mod egs;
pub mod egs_tables;
pub mod forward;
pub mod fraction;
pub mod gmm_update;
pub mod made_with;
pub mod output_mode;
pub mod prob;
pub mod threads;
pub mod training;
pub mod unprefixed;
pub mod weights;

pub use output_mode::OutputMode;

pub use nnet3_online::config::{pitch, spectral};
