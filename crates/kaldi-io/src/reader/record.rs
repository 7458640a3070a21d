//! A record of a binary file's entries, for callers that need the places of numbers in a file, or the objects under
//! each token.

use std::ops::Range;

use super::KaldiReader;

/// One thing that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    Token(String),
    Int(i64),
    Real(Real),
    Bool(bool),
    Ints(Vec<i32>),
    Pairs(Vec<(i32, i32)>),
    Values(Values),
}

/// A single number, stored as float or double.
#[derive(Clone, Debug, PartialEq)]
pub struct Real {
    pub value: f64,
    /// Byte range of the number in the file, without the size byte: four bytes of a float, eight of a double.
    pub bytes: Range<u64>,
}

/// The numbers of a full matrix or vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    /// Byte range of the numbers in the file: row after row, little-endian.
    pub bytes: Range<u64>,
    /// `None` for a vector.
    pub rows: Option<usize>,
    pub cols: usize,
    /// True for doubles, false for floats.
    pub double: bool,
}

impl Values {
    /// Rows and columns; a vector is one row.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows.unwrap_or(1), self.cols)
    }

    /// The numbers, from the bytes of the whole file.
    ///
    /// # Panics
    /// If the file is shorter than that.
    pub fn decode(&self, file: &[u8]) -> Vec<f64> {
        let bytes = &file[self.bytes.start as usize..self.bytes.end as usize];
        match self.double {
            true => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
            false => bytes.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
        }
    }
}

/// The entries of a file so far.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    entries: Vec<Entry>,
}

impl KaldiReader {
    /// Records the entries of binary objects from here on. (Compressed and sparse matrices, and data read byte by byte
    /// or line by line, are not recorded.)
    pub fn start_record(&mut self) {
        self.recorder = Some(Box::default());
    }

    /// Returns the entries read since [`KaldiReader::start_record`].
    pub fn take_record(&mut self) -> Vec<Entry> {
        self.recorder.take().map_or_else(Vec::new, |recorder| recorder.entries)
    }

    #[inline]
    pub(super) fn note(&mut self, entry: impl FnOnce() -> Entry) {
        if let Some(recorder) = &mut self.recorder {
            recorder.entries.push(entry());
        }
    }

    /// Numbers have been read, the first of them at byte `first`. Their header (`FM`, rows, columns) becomes part of
    /// the entry.
    pub(crate) fn note_values(&mut self, first: u64, rows: Option<usize>, cols: usize, double: bool) {
        let bytes = first..self.position;
        if let Some(recorder) = &mut self.recorder {
            let header = if rows.is_some() { 3 } else { 2 };
            recorder.entries.truncate(recorder.entries.len().saturating_sub(header));
            recorder.entries.push(Entry::Values(Values { bytes, rows, cols, double }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{DenseMatrix, read_vector, write_vector};
    use crate::writer::KaldiWriter;

    #[test]
    fn records_tokens_numbers_and_places() {
        let mut w = KaldiWriter::in_memory(true);
        w.write_token("<A>").unwrap();
        w.write_i32(7).unwrap();
        w.write_bool(true).unwrap();
        DenseMatrix::<f32> { rows: 1, cols: 2, data: vec![1.0, -2.5] }.write(&mut w).unwrap();
        write_vector::<f64>(&mut w, &[0.5]).unwrap();
        w.write_i32_vector(&[3, 4]).unwrap();
        w.write_f32(1.5).unwrap();
        let bytes = w.into_bytes();
        let mut r = KaldiReader::from_bytes("test", bytes.clone());
        r.set_binary(true);
        r.start_record();
        r.expect_token("<A>").unwrap();
        r.read_i32().unwrap();
        r.read_bool().unwrap();
        DenseMatrix::<f32>::read(&mut r).unwrap();
        // Doubles that are read as floats are in the file as doubles.
        read_vector::<f32>(&mut r).unwrap();
        r.read_i32_vector().unwrap();
        r.read_f32().unwrap();
        let record = r.take_record();
        assert_eq!(record.len(), 7, "{record:?}");
        assert_eq!(record[..3], [Entry::Token("<A>".into()), Entry::Int(7), Entry::Bool(true)]);
        let (Entry::Values(matrix), Entry::Values(vector)) = (&record[3], &record[4]) else {
            panic!("{record:?}")
        };
        assert_eq!((matrix.shape(), matrix.double, matrix.decode(&bytes)), ((1, 2), false, vec![1.0, -2.5]));
        assert_eq!((vector.rows, vector.cols, vector.decode(&bytes)), (None, 1, vec![0.5]));
        assert!(vector.double);
        let end = bytes.len() as u64;
        let real = Real { value: 1.5, bytes: end - 4..end };
        assert_eq!(record[5..], [Entry::Ints(vec![3, 4]), Entry::Real(real)]);
        r.expect_token("more").unwrap_err();
        assert!(r.take_record().is_empty());
    }
}
