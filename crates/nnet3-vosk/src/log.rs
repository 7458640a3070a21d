//! Lines on standard error, in vosk's form: `LEVEL (VoskAPI:FUNCTION()) MESSAGE`.

use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicI32, Ordering};

/// The level of `vosk_set_log_level`. From 0 on all lines are printed, at -1 warnings and errors, at -2 errors alone.
static LEVEL: AtomicI32 = AtomicI32::new(0);

pub fn set_level(level: i32) {
    LEVEL.store(level, Ordering::Relaxed);
}

pub fn info(function: &str, message: impl Display) {
    print(0, "LOG", function, &message);
}

pub fn warning(function: &str, message: impl Display) {
    print(-1, "WARNING", function, &message);
}

/// Prints an error with its causes.
pub fn error(function: &str, error: &dyn std::error::Error) {
    failure(function, kaldi_io::error::chain(error));
}

pub fn failure(function: &str, message: impl Display) {
    print(-2, "ERROR", function, &message);
}

fn print(level: i32, name: &str, function: &str, message: &dyn Display) {
    if LEVEL.load(Ordering::Relaxed) >= level {
        // A program without standard error has no use for the line.
        let _ = writeln!(std::io::stderr(), "{name} (VoskAPI:{function}()) {message}");
    }
}
