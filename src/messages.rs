//! Log lines of programs whose lines no script parses: function `main` of a file named after the program.

use std::sync::OnceLock;

use kaldi_io::log::{self, Site};

fn site() -> Site {
    static FILE: OnceLock<String> = OnceLock::new();
    Site::main(FILE.get_or_init(|| format!("{}.cc", log::program())), 1)
}

pub fn log(message: &str) {
    log::log(&site(), message);
}

pub fn warn(message: &str) {
    log::warning(&site(), message);
}

pub fn error(message: &str) {
    log::error(&site(), message);
}
