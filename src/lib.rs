//! What the programs in `src/bin` share: groups of options, progress, and how library results become log lines.

pub mod acoustic;
pub mod chain;
pub mod chain_egs;
pub mod combination;
pub mod compiler;
pub mod config_dir;
pub mod egs;
pub mod forward;
pub mod fsts;
pub mod get_egs;
pub mod lattices;
pub mod lda;
pub mod messages;
pub mod models;
pub mod options;
mod plain_shell;
pub mod prepare;
pub mod progress;
pub mod report;
pub mod scoring;
pub mod sums;
pub mod tables;
pub mod training;
pub mod training_graphs;
pub mod training_log;
pub mod training_report;
