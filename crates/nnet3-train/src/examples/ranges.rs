//! Examples of speakers: chunks of utterances with one label each, from a list of ranges (x-vectors).

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::example::{NnetExample, NnetIo};
use kaldi_io::{DenseMatrix, SparseMatrix, SparseVector};

/// A chunk of an utterance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The number of the archive that gets the example, from 0.
    pub archive: usize,
    pub start: usize,
    pub frames: usize,
    pub label: i32,
}

impl Range {
    /// The key of the example; it contains the requested start.
    pub fn key(&self, utterance: &str) -> String {
        format!("{utterance}-{}-{}-{}", self.start, self.frames, self.label)
    }

    /// The example: `input` from t = 0 on, and `output`, a row of `classes` columns with a 1 for the label. A chunk
    /// that would end behind the utterance begins earlier. `None` if the utterance has fewer frames than the chunk.
    pub fn example(&self, features: &DenseMatrix<f32>, classes: usize) -> Result<Option<NnetExample>> {
        let Some(latest) = features.rows.checked_sub(self.frames) else { return Ok(None) };
        let start = self.start.min(latest);
        let data = features.data[start * features.cols..(start + self.frames) * features.cols].to_vec();
        let input = DenseMatrix { rows: self.frames, cols: features.cols, data };
        let label = SparseMatrix { rows: vec![SparseVector::new(classes, vec![(self.label, 1.0)])?] };
        let ios = vec![NnetIo::new("input", input.into(), 0, 1), NnetIo::new("output", label.into(), 0, 1)];
        Ok(Some(NnetExample { ios }))
    }
}

/// The ranges of each utterance, in the order of the list.
#[derive(Debug, Default)]
pub struct Ranges(HashMap<String, Vec<Range>>);

impl Ranges {
    /// Reads lines of utterance, archive (counted from 0 in these outputs), archive (counted in all; not used), first
    /// frame, number of frames and label. Fails, with the line, if a field is missing or wrong, the archive is not
    /// below `archives`, or the label not below `classes`.
    pub fn parse(text: &str, archives: usize, classes: usize) -> Result<Ranges> {
        let mut ranges = Ranges::default();
        for (i, line) in text.lines().enumerate() {
            let wrong = |message: String| Error::data(format!("line {}: {message}", i + 1));
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let &[utterance, archive, _, start, frames, label] = fields.as_slice() else {
                return Err(wrong(format!(
                    "Expected 6 fields in line of range file, got {} instead.",
                    fields.len()
                )));
            };
            let number = |name: &str, text: &str, below: usize| match text.parse::<usize>() {
                Ok(number) if number < below => Ok(number),
                _ => Err(wrong(format!("{name} {text}: expected a number from 0 to {}", below - 1))),
            };
            let archive = match archive.parse() {
                Ok(number) if number < archives => number,
                Ok(number) => {
                    return Err(wrong(format!(
                        "Requested output index exceeds number of specified output files. (found {number} for {archives} files)"
                    )));
                }
                Err(_) => return Err(wrong(format!("output {archive}: expected a number"))),
            };
            let most = i32::MAX as usize;
            let range = Range {
                archive,
                start: number("first frame", start, most)?,
                frames: number("number of frames", frames, most)?,
                label: number("label", label, classes)? as i32,
            };
            if range.frames == 0 {
                return Err(wrong("number of frames 0: expected at least one".to_owned()));
            }
            ranges.0.entry(utterance.to_owned()).or_default().push(range);
        }
        Ok(ranges)
    }

    /// The ranges of an utterance; empty if the list has none.
    pub fn of(&self, utterance: &str) -> &[Range] {
        self.0.get(utterance).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(frames: usize) -> DenseMatrix<f32> {
        let rows: Vec<[f32; 2]> = (0..frames).map(|t| [t as f32, -(t as f32)]).collect();
        DenseMatrix::from_rows(&rows)
    }

    #[test]
    fn chunks_at_the_end_begin_earlier() {
        let ranges = Ranges::parse("u 0 4 1 3 2\nv 1 5 0 1 0\nu 1 5 4 3 0\nu 0 4 0 7 1\n", 2, 3).unwrap();
        let [first, late, long] = ranges.of("u") else { panic!("{ranges:?}") };
        assert_eq!((first.archive, late.archive), (0, 1));
        assert_eq!(late.key("u"), "u-4-3-0");
        let example = first.example(&features(6), 3).unwrap().unwrap();
        assert_eq!(example.ios[0].features.to_dense().data, [1., -1., 2., -2., 3., -3.]);
        assert_eq!(example.ios[0].time_range(), Some((0, 2)));
        assert_eq!(example.ios[1].features.to_dense().data, [0., 0., 1.]);
        assert_eq!(example.ios[1].time_range(), Some((0, 0)));
        let example = late.example(&features(6), 3).unwrap().unwrap();
        assert_eq!(example.ios[0].features.to_dense().row(0), [3., -3.]);
        assert_eq!(long.example(&features(6), 3).unwrap(), None);
        assert!(ranges.of("w").is_empty());
    }

    #[test]
    fn wrong_lines() {
        for (line, words) in [
            ("u 0 0 0 5", "line 2: Expected 6 fields in line of range file, got 5 instead."),
            ("u 2 0 0 5 1", "Requested output index exceeds number of specified output files."),
            ("u 0 0 -1 5 1", "first frame -1: expected"),
            ("u 0 0 0 0 1", "number of frames 0"),
            ("u 0 0 0 5 3", "label 3: expected a number from 0 to 2"),
        ] {
            let error = Ranges::parse(&format!("u 0 0 0 5 1\n{line}\n"), 2, 3).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
