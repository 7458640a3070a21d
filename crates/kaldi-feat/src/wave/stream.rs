//! Wave files piece by piece, as they arrive.

use std::io::{ErrorKind, Read};

use kaldi_io::{IoError, KaldiReader};

use super::header::Header;
use super::{Result, decode, truncated};

/// A wave file of which the header has been read.
pub struct WaveStream {
    reader: KaldiReader,
    header: Header,
    /// Bytes of the samples that are still to come; the end of the file may come before.
    left: u64,
    /// Bytes of samples so far, and those that the header announces but the file does not have.
    taken: u64,
    missing: u64,
}

impl WaveStream {
    /// Reads the header.
    pub fn new(mut reader: KaldiReader) -> Result<WaveStream> {
        let header = Header::read(&mut reader)?;
        let left = header.data_bytes.map_or(u64::MAX, u64::from);
        Ok(WaveStream { reader, header, left, taken: 0, missing: 0 })
    }

    /// In Hz.
    pub fn sample_rate(&self) -> u32 {
        self.header.sample_rate
    }

    pub fn channels(&self) -> usize {
        self.header.channels()
    }

    /// Up to `most` samples of the first channel, not scaled; waits for them. Fewer only at the end, none after it.
    pub fn read(&mut self, most: usize) -> Result<Vec<f32>> {
        let block = self.header.block_align as usize;
        let wanted = (most as u64).saturating_mul(block as u64).min(self.left) as usize;
        let mut bytes = vec![0; wanted];
        let mut filled = 0;
        while filled < wanted {
            match self.reader.read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(IoError::Io { name: self.reader.name().to_owned(), source }),
            }
        }
        let whole = filled - filled % block;
        self.taken += whole as u64;
        self.left -= filled as u64;
        if filled < wanted {
            let announced = self.header.data_bytes.is_some();
            self.missing = if announced { self.left + (filled - whole) as u64 } else { 0 };
            self.left = 0;
        }
        let samples = decode(&bytes[..whole], self.header.big_endian);
        Ok(samples.into_iter().step_by(self.header.channels()).map(f32::from).collect())
    }

    /// What is wrong with the file, once all of it was read.
    pub fn complaint(&self) -> Option<String> {
        truncated(self.taken, self.missing)
    }

    /// Closes the file; fails if it is a pipe whose command failed.
    pub fn close(self) -> Result<()> {
        self.reader.close()
    }
}
