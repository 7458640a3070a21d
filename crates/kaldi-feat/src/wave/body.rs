//! The samples of a wave file, possibly in several chunks, and their faults.

use std::io::{ErrorKind, Read};

use kaldi_io::{IoError, KaldiReader};

use super::Result;
use super::header::{CHUNK_HEADER, Header, is_name_byte, skip_pad};
use super::next::{Found, find};

/// Names at the beginning of wave files.
const FILES: [&[u8; 4]; 4] = [b"RIFF", b"RIFX", b"RF64", b"BW64"];

/// Goes through the chunks of samples. Between calls the reader is within a chunk, at its end, or at the end of the file.
pub(super) struct Body {
    pub header: Header,
    /// Bytes that are left of this chunk; whole samples.
    left: u64,
    /// Bytes of this chunk behind its last whole sample.
    rest: u64,
    /// The size of this chunk, which tells if a byte of padding follows.
    size: u64,
    ended: bool,
    /// Announced bytes of samples (if headers give them), and bytes of samples so far.
    announced: u64,
    taken: u64,
    /// Bytes behind the samples that belong to no chunk.
    surplus: u64,
    /// Bytes of another wave file behind this one, which are passed over.
    joined: u64,
    /// Bytes that come next and in which no other file begins.
    clear: usize,
    /// True if the caller reads such a file itself.
    stops_at_next: bool,
    /// True if the reader is at the beginning of such a file.
    pub follows: bool,
    /// Samples that are NaN or infinite.
    pub not_finite: u64,
}

impl Body {
    /// Reads the header. Stops at the beginning of a wave file behind this one if `stops_at_next`.
    pub fn new(r: &mut KaldiReader, stops_at_next: bool) -> Result<Body> {
        let header = Header::read(r)?;
        let mut body = Body {
            header,
            left: 0,
            rest: 0,
            size: 0,
            ended: false,
            announced: 0,
            taken: 0,
            surplus: 0,
            joined: 0,
            clear: 0,
            stops_at_next,
            follows: false,
            not_finite: 0,
        };
        match body.header.data_bytes {
            Some(size) => body.begin_chunk(size),
            None => body.left = u64::MAX,
        }
        Ok(body)
    }

    fn begin_chunk(&mut self, size: u64) {
        self.rest = size % self.header.block_align;
        self.left = size - self.rest;
        self.size = size;
        self.announced = self.announced.saturating_add(size);
    }

    /// Returns the largest number of bytes up to `bytes` that is a whole number of samples, at least one sample.
    pub fn whole_samples(&self, bytes: usize) -> usize {
        let block = self.header.block_align as usize;
        (bytes - bytes % block).max(block)
    }

    /// Fills `out`, which has room for whole samples, with bytes of samples. Returns the number of bytes. It is smaller
    /// than the buffer only at the end of a chunk, and 0 only at the end of the data.
    pub fn read(&mut self, r: &mut KaldiReader, out: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled == 0 && !out.is_empty() && self.more(r)? {
            while filled < out.len() && self.left > 0 {
                let mut most = self.left.min((out.len() - filled) as u64) as usize;
                if self.stops_at_next && self.header.data_bytes.is_none() && r.is_whole() {
                    most = self.up_to_next(r, most)?;
                }
                if self.follows {
                    break;
                }
                match r.read(&mut out[filled..filled + most]) {
                    Ok(0) => {
                        (self.ended, self.left) = (true, 0);
                    }
                    Ok(read) => {
                        filled += read;
                        self.left -= read as u64;
                        self.clear = self.clear.saturating_sub(read);
                    }
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(source) => return Err(IoError::Io { name: r.name().to_owned(), source }),
                }
            }
        }
        filled -= filled % self.header.block_align as usize;
        self.taken += filled as u64;
        Ok(filled)
    }

    /// The number of bytes, at most `most`, that can be read before another file begins. The end of these samples has come if
    /// one begins here.
    fn up_to_next(&mut self, r: &mut KaldiReader, most: usize) -> Result<usize> {
        while self.clear == 0 {
            let bytes = r.peek_some()?;
            let there = bytes.len();
            match find(bytes) {
                Found::At(0) => {
                    (self.follows, self.ended, self.left) = (true, true, 0);
                    return Ok(0);
                }
                Found::At(at) | Found::PerhapsAt(at) if at > 0 => self.clear = at,
                Found::PerhapsAt(_) if r.peek_bytes(there + 1)?.len() > there => {}
                Found::At(_) | Found::PerhapsAt(_) | Found::Nowhere => self.clear = there.max(1),
            }
        }
        Ok(self.clear.min(most))
    }

    /// Appends the samples in `bytes`, filled by [`Body::read`], to `out`: all channels of the first sample, and so on.
    pub fn decode(&mut self, bytes: &[u8], out: &mut Vec<i16>) {
        let Header { coding, big_endian, .. } = self.header;
        self.not_finite += coding.decode(bytes, big_endian, out);
    }

    /// Passes over all samples; returns how many bytes of them there were.
    pub fn skip(&mut self, r: &mut KaldiReader) -> Result<u64> {
        while self.more(r)? {
            let there = r.skip_bytes(self.left)?;
            self.ended = there < self.left;
            self.left = 0;
            self.taken += there - there % self.header.block_align;
        }
        Ok(self.taken)
    }

    /// Bytes of samples that the headers so far announce. `None` if unknown.
    pub fn announced(&self) -> Option<u64> {
        self.header.data_bytes.map(|_| self.announced)
    }

    /// Sees to it that bytes of this chunk, or of another, come next; false at the end.
    fn more(&mut self, r: &mut KaldiReader) -> Result<bool> {
        while self.left == 0 && !self.ended {
            self.ended = r.skip_bytes(self.rest)? < self.rest || !self.next_chunk(r)?;
        }
        Ok(self.left > 0)
    }

    /// Looks for another chunk of samples behind this one. In an archive the end that the header has is the limit, in a
    /// file its end.
    fn next_chunk(&mut self, r: &mut KaldiReader) -> Result<bool> {
        let whole = r.is_whole();
        let limit = if whole { u64::MAX } else { self.header.end.unwrap_or(0) };
        if limit <= r.position() {
            return Ok(false);
        }
        skip_pad(r, self.size)?;
        loop {
            let position = r.position();
            if limit.saturating_sub(position) < CHUNK_HEADER as u64 {
                return Ok(false);
            }
            let next = r.peek_bytes(CHUNK_HEADER)?;
            let chunk = <[u8; CHUNK_HEADER]>::try_from(next).map(|bytes| self.header.parse_chunk(bytes));
            let end = |size: u64| (position + CHUNK_HEADER as u64).checked_add(size);
            let chunk = chunk.ok().filter(|chunk| {
                chunk.name.iter().all(|&b| is_name_byte(b)) && end(chunk.size).is_some_and(|end| end <= limit)
            });
            // A whole wave file, which `cat` has put here.
            if whole && chunk.as_ref().is_some_and(|chunk| FILES.contains(&&chunk.name)) {
                match self.stops_at_next {
                    true => self.follows = true,
                    false => self.joined = r.skip_bytes(u64::MAX)?,
                }
                return Ok(false);
            }
            let Some(chunk) = chunk else {
                if whole {
                    self.surplus = r.skip_bytes(u64::MAX)?;
                }
                return Ok(false);
            };
            r.skip_bytes(CHUNK_HEADER as u64)?;
            if chunk.name == *b"data" {
                self.begin_chunk(chunk.size);
                return Ok(true);
            }
            let there = r.skip_bytes(chunk.size)?;
            if there < chunk.size {
                // No chunk: its size is beyond the end of the file.
                self.surplus = CHUNK_HEADER as u64 + there;
                return Ok(false);
            }
            skip_pad(r, chunk.size)?;
        }
    }

    /// The fault of a file that could be read nevertheless, once all of it was read.
    pub fn complaint(&self) -> Option<String> {
        self.fault().or_else(|| {
            let count = self.not_finite;
            (count > 0).then(|| format!("{count} samples are NaN or infinite; NaN is taken for silence"))
        })
    }

    /// The fault of the file's sizes, once all of it was read.
    pub fn fault(&self) -> Option<String> {
        let announced = self.announced().unwrap_or(0);
        let rate = u64::from(self.header.sample_rate) * self.header.block_align;
        let seconds = |bytes: u64| bytes as f64 / rate as f64;
        let missing = announced.saturating_sub(self.taken);
        // (Chunks may end within a sample.)
        if self.header.data_bytes.is_some() && missing >= self.header.block_align {
            let read = self.taken;
            return Some(format!(
                "Expected {announced} bytes of wave data, but read only {read} bytes. Truncated file? ({:.2} s are missing)",
                seconds(missing)
            ));
        }
        if self.joined > 0 {
            return Some(format!(
                "another wave file of {} bytes (up to {:.2} s) follows this one, and is left out",
                self.joined,
                seconds(self.joined)
            ));
        }
        let bytes = self.surplus;
        (bytes >= self.header.block_align).then(|| {
            format!(
                "{bytes} bytes behind the samples are not used ({:.2} s, if they are samples): the header says that there are \
                 {announced} bytes of samples. Is it wrong?",
                seconds(bytes)
            )
        })
    }
}
