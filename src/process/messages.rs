//! Log lines of programs, for lines that scripts do not parse: function `main` of a file named after the program.

use kaldi_cli::log::{self, Site};

pub fn log(message: &str) {
    log::log(&Site::PROGRAM, message);
}

pub fn warn(message: &str) {
    log::warning(&Site::PROGRAM, message);
}

pub fn error(message: &str) {
    log::error(&Site::PROGRAM, message);
}

/// A `VLOG` line, written with `--verbose` of at least this level.
pub fn detail(level: i32, message: std::fmt::Arguments) {
    if level <= log::verbose() {
        log::vlog(level, &Site::PROGRAM, &message.to_string());
    }
}
