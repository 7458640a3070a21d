//! Faults of a recording that can be used nevertheless.

use std::fmt;

/// A part of a recording that is missing, or is not as it should be. Times are seconds from the beginning of what
/// [`SoundStream`](crate::SoundStream) gives.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// The sound ends at `at`, earlier than it should. `missing` is the length of the rest, if it is known.
    Cut { at: f64, missing: Option<f64>, reason: String },
    /// Sound is missing in the middle. Silence takes its place if it is `filled`.
    Gap { at: f64, seconds: f64, filled: bool },
    /// Packets that could not be decoded. Silence takes their place.
    Damaged { at: f64, seconds: f64, packets: u64 },
    /// Sound that may be missing, at `at` or before. `seconds` is a guess of its length, if there is one.
    Perhaps { at: f64, seconds: Option<f64>, reason: String },
    /// Sound at the end of the file that is not given. `seconds` is its length, if it is known.
    LeftOut { at: f64, seconds: Option<f64>, bytes: u64, reason: String },
    /// There are `count` tracks of sound, and the one with this number, from 1, is taken.
    OneOfTracks { taken: usize, count: usize },
    /// Samples that are NaN or infinite.
    NotFinite { count: u64 },
    /// All of it is there, but the checksum that the file has is another one.
    Checksum,
    /// The mean of all channels is silent in these seconds, but the channels are not. The first of them is at `at`.
    Cancelled { at: f64, seconds: f64 },
    /// The message of another reader.
    Other(String),
}

impl Warning {
    /// The setting of [`SoundOptions`](crate::SoundOptions) or [`Channels`](crate::Channels) that may help: `track`, `channels`.
    pub fn setting(&self) -> Option<&'static str> {
        match self {
            Warning::OneOfTracks { .. } => Some("track"),
            Warning::Cancelled { .. } => Some("channels"),
            _ => None,
        }
    }
}

/// Says `1 packet`, `2 packets`.
fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Cut { at, missing: Some(missing), reason } => {
                write!(f, "the sound ends early, at {at:.2} s, and {missing:.2} s are missing: {reason}")
            }
            Warning::Cut { at, missing: None, reason } => {
                write!(f, "the sound ends early, at {at:.2} s: {reason}")
            }
            Warning::Gap { at, seconds, filled: true } => {
                write!(f, "{seconds:.2} s of sound are missing at {at:.2} s; silence takes their place")
            }
            Warning::Gap { at, seconds, filled: false } => {
                write!(
                    f,
                    "the time stamps jump by {seconds:.2} s at {at:.2} s; later times are wrong by as much"
                )
            }
            Warning::Damaged { at, seconds, packets } => {
                let packets = count(*packets, "packet");
                write!(
                    f,
                    "{seconds:.2} s of sound ({packets}, the first at {at:.2} s) are damaged; silence takes their place"
                )
            }
            Warning::Perhaps { at, seconds: Some(seconds), reason } => {
                write!(f, "{seconds:.2} s of sound may be missing, at {at:.2} s or before: {reason}")
            }
            Warning::Perhaps { at, seconds: None, reason } => {
                write!(f, "sound may be missing, at {at:.2} s or before: {reason}")
            }
            Warning::LeftOut { at, seconds: Some(seconds), bytes, reason } => {
                write!(f, "{seconds:.2} s of sound behind {at:.2} s ({bytes} bytes) are left out: {reason}")
            }
            Warning::LeftOut { at, seconds: None, bytes, reason } => {
                write!(f, "{bytes} bytes behind the sound, which ends at {at:.2} s, are left out: {reason}")
            }
            Warning::OneOfTracks { taken, count } => {
                write!(f, "track {taken} of {count} tracks of sound is taken")
            }
            Warning::NotFinite { count: number } => {
                let samples = count(*number, "sample");
                write!(f, "{samples} are NaN or infinite; NaN is taken for silence")
            }
            Warning::Checksum => {
                f.write_str("the samples do not have the checksum that the file gives: some are damaged")
            }
            Warning::Cancelled { at, seconds } => {
                write!(
                    f,
                    "the channels cancel each other out, and their mean is silent, for {seconds:.2} s, the first at {at:.2} s"
                )
            }
            Warning::Other(message) => f.write_str(message),
        }
    }
}
