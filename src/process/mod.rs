//! The process: its log lines and progress, its threads, and programs of a pipe or of a driver in one process.

pub mod messages;
pub(crate) mod plain_shell;
pub mod progress;
pub mod worker;
pub mod workers;
