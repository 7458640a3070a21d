//! Vectors of integers (`ReadIntegerVector`, `ReadIntegerPairVector`), and growing reads for anything long.

use byteorder::{LittleEndian, ReadBytesExt};

use super::KaldiReader;
use super::record::Entry;
use crate::error::{IoError, Result};

/// Memory that is taken before any of the announced data has been seen.
const CHUNK_BYTES: usize = 1 << 20;

impl KaldiReader {
    /// Reads `count` elements by calling `read` on one slice after another. A slice is at most as long as all data
    /// before it, or a megabyte. So a wrong header cannot reserve memory that the file does not fill.
    pub fn read_growing<T: Copy + Default>(
        &mut self,
        count: usize,
        mut read: impl FnMut(&mut Self, &mut [T]) -> Result<()>,
    ) -> Result<Vec<T>> {
        let chunk = (CHUNK_BYTES / size_of::<T>().max(1)).max(1);
        let mut out: Vec<T> = Vec::new();
        while out.len() < count {
            let old = out.len();
            let step = (count - old).min(chunk);
            if out.capacity() < old + step {
                let reserve = (count - old).min(old.max(chunk));
                crate::memory::reserve(&mut out, reserve, &format!("{count} elements"))
                    .map_err(|e| IoError::Memory(format!("{}: {e}", self.name)))?;
            }
            out.resize(old + step, T::default());
            read(self, &mut out[old..])?;
        }
        Ok(out)
    }

    /// A count that must not be negative.
    pub fn check_count(&self, count: i32, what: &str) -> Result<usize> {
        usize::try_from(count).map_err(|_| self.error(format!("invalid number of {what}: {count}")))
    }

    /// The raw (unprefixed) 32-bit count of a binary integer vector.
    fn read_raw_count(&mut self) -> Result<usize> {
        let mut bytes = [0; 4];
        self.read_exact(&mut bytes)?;
        self.check_count(i32::from_le_bytes(bytes), "elements")
    }

    /// Raw little-endian 32-bit integers.
    pub(crate) fn read_raw_i32(&mut self, out: &mut [i32]) -> Result<()> {
        self.read_i32_into::<LittleEndian>(out).map_err(|e| self.bulk_error(e, size_of_val(out)))
    }

    pub fn read_i32_vector(&mut self) -> Result<Vec<i32>> {
        if !self.binary {
            return self.read_text_integers();
        }
        self.expect_code(&[4], "a vector of 32-bit integers")?;
        let count = self.read_raw_count()?;
        let values = self.read_growing(count, Self::read_raw_i32)?;
        self.note(|| Entry::Ints(values.clone()));
        Ok(values)
    }

    pub fn read_u8_vector(&mut self) -> Result<Vec<u8>> {
        if !self.binary {
            return self.read_text_integers();
        }
        self.expect_code(&[1], "a vector of 8-bit integers")?;
        let count = self.read_raw_count()?;
        self.read_growing(count, Self::read_exact)
    }

    pub fn read_i32_pairs(&mut self) -> Result<Vec<(i32, i32)>> {
        if !self.binary {
            return self.read_bracketed(|r| {
                let first = r.read_text_integer("an integer")?;
                if r.peek_byte()? != Some(b',') {
                    return Err(r.error_expected("',' between the numbers of a pair"));
                }
                r.next_byte()?;
                Ok((first, r.read_text_integer("an integer")?))
            });
        }
        self.expect_code(&[4], "a vector of pairs of 32-bit integers")?;
        let count = self.read_raw_count()?;
        let mut raw = Vec::new();
        let pairs = self.read_growing(count, |r, out: &mut [(i32, i32)]| {
            raw.resize(2 * out.len(), 0);
            r.read_raw_i32(&mut raw)?;
            for (pair, numbers) in out.iter_mut().zip(raw.chunks_exact(2)) {
                *pair = (numbers[0], numbers[1]);
            }
            Ok(())
        })?;
        self.note(|| Entry::Pairs(pairs.clone()));
        Ok(pairs)
    }

    fn read_text_integers<T: std::str::FromStr>(&mut self) -> Result<Vec<T>> {
        self.read_bracketed(|r| r.read_text_integer("an integer"))
    }

    /// Reads `[ element element … ]`. The bytes after the closing bracket stay unread.
    fn read_bracketed<T>(&mut self, mut element: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.skip_whitespace()?;
        if self.peek_byte()? != Some(b'[') {
            return Err(self.error_expected("'['"));
        }
        self.next_byte()?;
        let mut out = Vec::new();
        loop {
            self.skip_whitespace()?;
            if self.peek_byte()? == Some(b']') {
                self.next_byte()?;
                return Ok(out);
            }
            out.push(element(self)?);
        }
    }
}
