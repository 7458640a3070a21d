//! What the programs in `src/bin` share: groups of options, and how library results become log lines.

pub mod report;
