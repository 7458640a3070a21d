//! Code that several families of programs share: groups of options, loops over tables, progress, log lines of results.
//! The programs are in `src/bin/FAMILY/`, with the code that only one family needs.

// Text that is lost must be an error: kaldi_cli::StandardOutput and kaldi_cli::terminal write it.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod egs;
mod files;
pub mod json;
mod networks;
pub mod options;
mod process;
mod train;

pub use egs::{chain_egs, from_egs, get_egs, losses};
pub use files::{fsts, gaussians, ivectors, lattices, tables, trees, utterances};
pub use networks::{acoustic, feature_layer, forward, models, prepare, report, speaker_adaptation};
pub(crate) use process::plain_shell;
pub use process::{messages, progress, worker, workers};
pub use train::{chain, combination, evaluation, training, training_log};
