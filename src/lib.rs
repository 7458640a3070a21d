//! Code that several families of programs share: groups of options, loops over tables, progress, log lines of results.
//! The programs are in `src/bin/FAMILY/`, with the code that only one family needs.

// Text that is lost must be an error: kaldi_io::StandardOutput and kaldi_io::terminal write it.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod acoustic;
pub mod chain;
pub mod chain_egs;
pub mod combination;
pub mod egs;
pub mod evaluation;
pub mod feature_layer;
pub mod forward;
pub mod from_egs;
pub mod fsts;
pub mod gaussians;
pub mod get_egs;
pub mod ivectors;
pub mod json;
pub mod lattices;
pub mod losses;
pub mod messages;
pub mod models;
pub mod options;
mod plain_shell;
pub mod prepare;
pub mod progress;
pub mod report;
pub mod speaker_adaptation;
pub mod tables;
pub mod training;
pub mod training_log;
pub mod trees;
pub mod utterances;
pub mod worker;
pub mod workers;
