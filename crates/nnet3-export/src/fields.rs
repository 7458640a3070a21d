//! Fields of a component, or of its precomputed indexes, by the token of the file form.

use crate::error::{Error, Result};
use kaldi_io::reader::record::Entry;
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3_core::component::{Component, PrecomputedIndexes, registry};

/// A matrix on the host, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub rows: usize,
    pub cols: usize,
    pub data: Vec<f64>,
}

impl Table {
    /// The transposed matrix as floats.
    pub fn transposed(&self) -> Vec<f32> {
        let column = |j: usize| (0..self.rows).map(move |i| self.data[i * self.cols + j] as f32);
        (0..self.cols).flat_map(column).collect()
    }
}

/// The binary form of an object, entry by entry.
pub struct Fields {
    type_name: String,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl Fields {
    pub fn of_component(component: &dyn Component) -> Result<Fields> {
        let mut w = KaldiWriter::in_memory(true);
        component.write(&mut w)?;
        Fields::parse(component.type_name(), w.into_bytes(), |r| registry::read(r).map(|_| ()))
    }

    pub(crate) fn of_indexes(type_name: &str, indexes: &dyn PrecomputedIndexes) -> Result<Fields> {
        let mut w = KaldiWriter::in_memory(true);
        indexes.write(&mut w)?;
        Fields::parse(type_name, w.into_bytes(), |r| registry::read_precomputed(r).map(|_| ()))
    }

    fn parse(
        type_name: &str,
        bytes: Vec<u8>,
        read: impl FnOnce(&mut KaldiReader) -> nnet3_core::Result<()>,
    ) -> Result<Fields> {
        let mut r = KaldiReader::from_bytes(type_name, bytes.clone());
        r.set_binary(true);
        r.start_record();
        read(&mut r)?;
        Ok(Fields { type_name: type_name.to_string(), bytes, entries: r.take_record() })
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn error(&self, message: impl Into<String>) -> Error {
        Error::Component { component: self.type_name.clone(), message: message.into() }
    }

    /// Returns the entries after a token.
    fn after(&self, token: &str) -> Option<&[Entry]> {
        let place = self.entries.iter().position(|entry| matches!(entry, Entry::Token(t) if t == token))?;
        Some(&self.entries[place + 1..])
    }

    fn missing<T>(&self, token: &str, found: Option<T>) -> Result<T> {
        found.ok_or_else(|| self.error(format!("its file form has no {token} of the expected kind")))
    }

    pub fn has(&self, token: &str) -> bool {
        self.after(token).is_some()
    }

    /// Reads `count` integers in sequence.
    pub fn sizes(&self, token: &str, count: usize) -> Result<Vec<usize>> {
        let size = |entry: &Entry| match entry {
            Entry::Int(value) => usize::try_from(*value).ok(),
            _ => None,
        };
        let entries = self.after(token).and_then(|entries| entries.get(..count));
        self.missing(token, entries.and_then(|entries| entries.iter().map(size).collect()))
    }

    pub fn size(&self, token: &str) -> Result<usize> {
        Ok(self.sizes(token, 1)?[0])
    }

    pub fn ints(&self, token: &str) -> Result<Vec<i64>> {
        let found = match self.after(token).and_then(|entries| entries.first()) {
            Some(Entry::Ints(values)) => Some(values.iter().map(|&v| i64::from(v)).collect()),
            _ => None,
        };
        self.missing(token, found)
    }

    pub fn pairs(&self, token: &str) -> Result<&[(i32, i32)]> {
        let found = match self.after(token).and_then(|entries| entries.first()) {
            Some(Entry::Pairs(values)) => Some(values.as_slice()),
            _ => None,
        };
        self.missing(token, found)
    }

    pub fn number(&self, token: &str) -> Result<f64> {
        let found = match self.after(token).and_then(|entries| entries.first()) {
            Some(Entry::Real(real)) => Some(real.value),
            _ => None,
        };
        self.missing(token, found)
    }

    /// False if there is no such token.
    pub fn flag(&self, token: &str) -> bool {
        matches!(self.after(token).and_then(|entries| entries.first()), Some(Entry::Bool(true)))
    }

    /// A matrix, or a vector as a matrix with one row.
    pub fn table(&self, token: &str) -> Result<Table> {
        let found = match self.after(token).and_then(|entries| entries.first()) {
            Some(Entry::Values(values)) => {
                let (rows, cols) = values.shape();
                Some(Table { rows, cols, data: values.decode(&self.bytes) })
            }
            _ => None,
        };
        self.missing(token, found)
    }

    /// The parts of a composite component.
    pub fn parts(&self) -> Result<Vec<Box<dyn Component>>> {
        let count = self.size("<NumComponents>")?;
        let mut r = KaldiReader::from_bytes(self.type_name.as_str(), self.bytes.clone());
        r.set_binary(true);
        r.skip_past("<NumComponents> ")?;
        r.read_i32()?;
        (0..count).map(|_| Ok(registry::read(&mut r)?)).collect()
    }
}
