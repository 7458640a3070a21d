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
