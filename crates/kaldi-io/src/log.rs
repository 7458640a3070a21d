//! Warnings, and the form of Kaldi's log lines (`base/kaldi-error.cc`): `LEVEL (PROGRAM[VERSION]:FUNCTION():FILE:LINE)
//! MESSAGE`.
//!
//! The [host](crate::host) prints warnings. Other levels are for programs (`kaldi-cli`).

use std::ops::Div;

use crate::host::host;
use crate::text::{LOG_PRECISION, format_g};

/// The version in log lines: the version of Kaldi whose file formats and messages we follow.
pub const VERSION: &str = "5.5";

/// Place in the original program that a message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    pub function: &'static str,
    /// The source file that the line names; if it is empty, the file named after the program.
    pub file: &'static str,
    pub line: u32,
}

impl Site {
    pub const fn new(function: &'static str, file: &'static str, line: u32) -> Self {
        Site { function, file, line }
    }

    /// The function `main` of the running program.
    pub const PROGRAM: Site = Site::main("", 1);

    /// A message of a program's `main`, e.g. `Site::main("nnet3-train.cc", 91)`.
    pub const fn main(file: &'static str, line: u32) -> Self {
        Site { function: "main", file, line }
    }
}

/// Returns a log line with its newline.
pub fn line(level: &str, program: &str, site: &Site, message: &str) -> String {
    let Site { function, file, line } = site;
    let (stem, extension) = if file.is_empty() { (program, ".cc") } else { (*file, "") };
    format!("{level} ({program}[{VERSION}]:{function}():{stem}{extension}:{line}) {message}\n")
}

/// Prints a `WARNING` line.
pub(crate) fn warning(site: &Site, message: &str) {
    host().warning(site, message);
}

/// `kaldi_warn!(site, "format {}", value)`: a `WARNING` line.
macro_rules! kaldi_warn {
    ($site:expr, $($argument:tt)*) => {
        $crate::log::warning(&$site, &::std::format!($($argument)*))
    };
}
pub(crate) use kaldi_warn;

/// A number in a message: 6 significant digits, as C++ streams print it.
pub fn num(value: f64) -> String {
    format_g(value, LOG_PRECISION)
}

/// A ratio in a message, such as an average or a percentage: as [`num`], but `undefined` if `b`, the number of things, is 0.
pub fn ratio<T: Copy + Into<f64> + Div<Output = T>>(a: T, b: T) -> String {
    let count: f64 = b.into();
    if count == 0.0 { "undefined".to_owned() } else { num((a / b).into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_look_like_kaldis() {
        assert_eq!(
            line("WARNING", "nnet3-copy", &Site::PROGRAM, "x"),
            "WARNING (nnet3-copy[5.5]:main():nnet3-copy.cc:1) x\n"
        );
        assert_eq!(num(7588.5), "7588.5");
        assert_eq!(num(-2.520_041_2), "-2.52004");
        assert_eq!(num(100.0 / 3.0), "33.3333");
        assert_eq!((ratio(100.0, 3.0), ratio(1.0_f32, 4.0)), ("33.3333".to_owned(), "0.25".to_owned()));
        assert_eq!((ratio(0.0, 0.0), ratio(3.0_f32, -0.0)), ("undefined".to_owned(), "undefined".to_owned()));
    }
}
