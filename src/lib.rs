//! What the programs in `src/bin` share: groups of options, progress, and how library results become log lines.

pub mod compiler;
pub mod examples;
pub mod options;
pub mod prepare;
pub mod progress;
pub mod report;
pub mod training_log;
