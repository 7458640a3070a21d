//! Praat's TextGrids: tiers of intervals or points with a text each, in both text forms and the binary one.
//!
//! A file is a sequence of values, the same in all forms (`grid.rs`). In text they are numbers, strings in double quotes, and
//! flags in angle brackets. Words between them, such as `xmin =`, are for people; the short form has none. So one reader
//! serves both of these (`read.rs`), and another one the binary form (`binary.rs`).

mod binary;
mod grid;
mod read;
mod write;

pub use write::{Form, touching};

/// Intervals and points by tier, from `begin` to `end` in seconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TextGrid {
    /// The beginning, in seconds.
    pub begin: f64,
    /// The end, in seconds.
    pub end: f64,
    /// Its tiers.
    pub tiers: Vec<Tier>,
}

/// Intervals or points of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Tier {
    /// Its name.
    pub name: String,
    /// Its beginning, in seconds.
    pub begin: f64,
    /// Its end, in seconds.
    pub end: f64,
    /// Its contents.
    pub items: Items,
}

/// The contents of a tier.
#[derive(Debug, Clone, PartialEq)]
pub enum Items {
    /// Parts of the time.
    Intervals(Vec<Interval>),
    /// Points in time.
    Points(Vec<Point>),
}

/// A text from `begin` to `end` in seconds; empty where the tier has none.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Its beginning, in seconds.
    pub begin: f64,
    /// Its end, in seconds.
    pub end: f64,
    /// Its text.
    pub text: String,
}

/// A mark at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// In seconds.
    pub time: f64,
    /// Its text.
    pub mark: String,
}

/// The first fault of a file that is no TextGrid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Malformed {
    /// The place of the fault.
    pub place: Place,
    /// A clause that says what is wrong.
    pub message: String,
    /// True if the file ends there, as one that was cut off does.
    pub is_cut: bool,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A line of a text, from 1.
    Line(usize),
    /// The number of bytes in front of it.
    Byte(usize),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

impl TextGrid {
    /// Reads the text of a file. [`decode`](crate::decode) makes it of the file's bytes.
    ///
    /// # Errors
    /// The text is no TextGrid.
    pub fn parse(text: &str) -> Result<TextGrid, Malformed> {
        read::parse(text)
    }

    /// Reads the bytes of a file of Praat's binary form.
    ///
    /// # Errors
    /// The bytes are no TextGrid of this form.
    pub fn parse_binary(bytes: &[u8]) -> Result<TextGrid, Malformed> {
        binary::parse(bytes)
    }

    /// True if a file begins as those of Praat's binary form.
    pub fn is_binary(bytes: &[u8]) -> bool {
        bytes.starts_with(binary::MAGIC)
    }

    /// True if a text begins as TextGrids (and other files of Praat) do.
    pub fn is_like(text: &str) -> bool {
        text.trim_start().starts_with("File type = \"oo") || text.trim_start().starts_with("\"ooTextFile")
    }
}
