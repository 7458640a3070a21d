//! Praat's TextGrids: tiers of intervals or points with a text each, in both text forms.
//!
//! A file is a sequence of values: numbers, strings in double quotes, and flags in angle brackets. Words between them, such
//! as `xmin =`, are for people; the short form has none. So one reader serves both forms.

mod read;
mod write;

pub use write::{Form, touching};

/// Intervals and points by tier, from `begin` to `end` in seconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TextGrid {
    pub begin: f64,
    pub end: f64,
    pub tiers: Vec<Tier>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Tier {
    pub name: String,
    pub begin: f64,
    pub end: f64,
    pub items: Items,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Items {
    Intervals(Vec<Interval>),
    Points(Vec<Point>),
}

/// A text from `begin` to `end` in seconds; empty where the tier has none.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    pub begin: f64,
    pub end: f64,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub time: f64,
    pub mark: String,
}

/// The first fault of a file that is no TextGrid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct Malformed {
    pub line: usize,
    pub message: String,
}

impl TextGrid {
    /// Reads the text of a file. [`decode`](crate::decode) makes it of the file's bytes.
    pub fn parse(text: &str) -> Result<TextGrid, Malformed> {
        read::parse(text)
    }

    /// True if a text begins as TextGrids (and other files of Praat) do.
    pub fn is_like(text: &str) -> bool {
        text.trim_start().starts_with("File type = \"oo") || text.trim_start().starts_with("\"ooTextFile")
    }
}
