//! The layer types, a family a file. Each exports its types as `TYPES`.

pub mod affine;
pub mod attention;
pub mod basic;
pub mod channel_average;
pub mod component;
pub mod convolution;
pub mod delta;
pub mod fast_gru;
pub mod fast_lstm;
pub mod fast_opgru;
pub mod feature_maps;
pub mod fixed;
pub mod gru;
pub mod idct;
pub mod input_output;
pub mod lstm;
pub mod opgru;
pub mod output_layer;
pub mod prefinal;
mod recurrent;
pub mod res2_block;
pub mod res_block;
pub mod spec_augment;
pub mod stats;
pub mod tdnnf;
