//! OpenFst's programs that recipes call, with OpenFst's options.

pub use nnet3::fsts::run_as_openfst as start;

include!(concat!(env!("OUT_DIR"), "/openfst.rs"));
