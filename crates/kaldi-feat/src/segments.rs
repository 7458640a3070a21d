//! Parts of recordings, from lines `segment recording start end [channel]` with times in seconds.

use std::ops::Range;

use crate::error::{Error, Result};
use kaldi_io::text::{parse_integer, parse_real};

const EMPTY: &str = "empty or invalid segment";

/// A line of a segments file.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    pub name: String,
    pub recording: String,
    /// In seconds; not negative.
    pub start: f64,
    /// In seconds; after `start`. Infinite for the end of the recording.
    pub end: f64,
    /// The channel, counted from 0. `None` if the recording has one channel.
    pub channel: Option<u16>,
}

impl Segment {
    /// Parses a line. The error describes its fault.
    pub fn parse(line: &str) -> std::result::Result<Self, &'static str> {
        let segment = Segment::parse_open(line)?;
        if segment.end.is_infinite() { Err(EMPTY) } else { Ok(segment) }
    }

    /// Does the same as [`Segment::parse`], for a line with a possible end of -1, which stands for the end of the
    /// recording.
    pub fn parse_open(line: &str) -> std::result::Result<Self, &'static str> {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (name, recording, start, end, channel) = match fields[..] {
            [name, recording, start, end] => (name, recording, start, end, None),
            [name, recording, start, end, channel] => (name, recording, start, end, Some(channel)),
            _ => return Err("expected 4 or 5 fields"),
        };
        let start = parse_real(start).ok_or("bad start")?;
        let end = match parse_real(end).ok_or("bad end")? {
            -1.0 => f64::INFINITY,
            end if end.is_finite() => end,
            _ => return Err("bad end"),
        };
        if !(start >= 0.0 && end > start) {
            return Err(EMPTY);
        }
        let channel = match channel {
            Some(channel) => Some(parse_integer::<u16>(channel).ok_or("bad channel")?),
            None => None,
        };
        Ok(Segment { name: name.to_owned(), recording: recording.to_owned(), start, end, channel })
    }
}

/// Options for turning times into frames.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentOptions {
    /// In seconds; segments that are not longer are refused.
    pub min_length: f32,
    /// In milliseconds.
    pub frame_length: i32,
    /// In milliseconds.
    pub frame_shift: i32,
    /// By how many seconds a segment may end after the recording.
    pub max_overshoot: f32,
    /// Leave out, at the end, the frames that reach beyond the segment.
    pub snip_edges: bool,
}

impl SegmentOptions {
    pub fn check(&self) -> Result<()> {
        if self.frame_shift <= 0 {
            return Err(Error::options(format!(
                "`frame-shift`={}: expected a number above 0",
                self.frame_shift
            )));
        }
        Ok(())
    }

    fn frames(&self, seconds: f64) -> i64 {
        (seconds * 1000.0 / f64::from(self.frame_shift)).round() as i64
    }

    /// Returns the frames of the segment in a recording of `frames` frames, or the reason for which it has none.
    pub fn range(&self, segment: &Segment, frames: usize) -> std::result::Result<Range<usize>, String> {
        let total = frames as i64;
        let start = self.frames(segment.start);
        let mut end = self.frames(segment.end);
        if self.snip_edges {
            let beyond = f64::from(self.frame_length - self.frame_shift) / f64::from(self.frame_shift);
            end -= beyond.ceil() as i64;
        }
        if start >= total {
            return Err(format!("Start sample out of range {start} [length:] {total}"));
        }
        if end > total {
            if end >= total + self.frames(self.max_overshoot.into()) {
                return Err(format!("End sample too far out of range {end} [length:] {total}"));
            }
            end = total;
        }
        if end <= start + self.frames(self.min_length.into()) {
            return Err(format!("Segment too short: {} frames", (end - start).max(0)));
        }
        Ok(start as usize..end as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let segment = Segment::parse("s r 0.5\t1.25 0\r").unwrap();
        assert_eq!((segment.name.as_str(), segment.start, segment.end), ("s", 0.5, 1.25));
        assert_eq!(segment.channel, Some(0));
        assert_eq!(Segment::parse_open("s r 0.5 -1").unwrap().end, f64::INFINITY);
        assert_eq!(Segment::parse("s r 0.5 -1"), Err(EMPTY));
        assert!(Segment::parse_open("s r 0.5 inf").is_err());
        let bad = [("s r 1", "fields"), ("s r x 1", "start"), ("s r 1 y", "end"), ("s r 1 1", "empty")];
        for (line, why) in bad.into_iter().chain([("s r -1 1", "empty"), ("s r 0 1 A", "channel")]) {
            assert!(Segment::parse(line).unwrap_err().contains(why), "{line}");
        }
    }

    #[test]
    fn frames() {
        let options = SegmentOptions {
            min_length: 0.1,
            frame_length: 25,
            frame_shift: 10,
            max_overshoot: 0.0,
            snip_edges: true,
        };
        let range = |options: &SegmentOptions, start: f64, end: f64| {
            options.range(
                &Segment { name: String::new(), recording: String::new(), start, end, channel: None },
                100,
            )
        };
        assert_eq!(range(&options, 0.1, 0.5), Ok(10..48));
        assert_eq!(range(&options, 0.0, 1.02), Ok(0..100));
        assert!(range(&options, 0.0, 1.03).unwrap_err().contains("End sample too far out of range 101"));
        assert!(range(&options, 1.0, 2.0).unwrap_err().contains("Start sample out of range 100"));
        assert!(range(&options, 0.1, 0.22).unwrap_err().contains("too short: 10 frames"));
        assert_eq!(range(&options, 0.1, 0.23), Ok(10..21));
        let whole = SegmentOptions { snip_edges: false, max_overshoot: 0.05, ..options.clone() };
        assert_eq!(range(&whole, 0.1, 0.5), Ok(10..50));
        assert_eq!(range(&whole, 0.5, 1.04), Ok(50..100));
        assert!(range(&whole, 0.5, 1.05).is_err());
        assert!(SegmentOptions { frame_shift: 0, ..options }.check().is_err());
    }
}
