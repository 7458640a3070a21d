//! Recurrent language models: sampling, examples, training, probabilities, rescoring of lattices.

mod log;
mod options;

include!(concat!(env!("OUT_DIR"), "/language.rs"));
