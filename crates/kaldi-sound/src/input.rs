//! The bytes of a recording: file by file where several are joined, watched on their way, and given again to another
//! decoder if the first one fails at the beginning.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kaldi_feat::wave;
use kaldi_io::KaldiReader;
use symphonia::core::io::MediaSource;

use crate::joined::{Found, Joint};
use crate::scan::{self, Finding, Scan, scanner};
use crate::streams::{Next, Streams};

/// Bytes that are read at once.
const BLOCK: usize = 1 << 15;
/// Bytes at the beginning of a file that tell its kind and its length.
pub(crate) const LOOKED_AT: usize = 1024;
/// The longest beginning that can be given again, in bytes. Pictures of a cover lie before the sound.
const RECORDED: usize = 64 << 20;

struct State {
    reader: KaldiReader,
    /// Bytes that are read and not yet given, from `start` on.
    buffer: Vec<u8>,
    start: usize,
    ended: bool,
    joint: Option<Joint>,
    /// The end of this part by its header: another file may begin there, and decoders get no bytes behind it.
    end: Option<u64>,
    /// True if the rest of the bytes is for no decoder.
    draining: bool,
    /// The streams of an MPEG stream, and the bytes from `start` on that belong to this part.
    streams: Option<Streams>,
    own: u64,
    scanner: Option<Box<dyn Scan>>,
    /// Bytes of this part that were given.
    seen: u64,
    /// The bytes of this part that were given, as long as another decoder may need them.
    recorded: Option<Vec<u8>>,
    /// The number of those that are to be given again before all others.
    again: Vec<u8>,
    given_again: usize,
    /// The failure of the input; decoders do not tell it from the end.
    failed: Option<(io::ErrorKind, String)>,
}

impl State {
    /// Reads until `wanted` bytes are there, or the input ends.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        while self.buffer.len() - self.start < wanted && !self.ended {
            self.more()?;
        }
        Ok(())
    }

    fn more(&mut self) -> io::Result<()> {
        if self.start > BLOCK {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let old = self.buffer.len();
        self.buffer.resize(old + BLOCK, 0);
        loop {
            let read = match self.reader.read(&mut self.buffer[old..]) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.buffer.truncate(old);
                    self.failed = Some((error.kind(), error.to_string()));
                    return Err(error);
                }
            };
            self.buffer.truncate(old + read);
            self.ended = read == 0;
            return Ok(());
        }
    }

    /// Begins the next part; false if there are no more bytes.
    fn begin(&mut self) -> io::Result<bool> {
        self.fill(LOOKED_AT)?;
        let begin = &self.buffer[self.start..];
        if begin.is_empty() {
            return Ok(false);
        }
        let begin = &begin[..begin.len().min(LOOKED_AT)];
        (self.joint, self.end, self.scanner) = (Joint::of(begin), scan::end(begin), scanner(begin));
        (self.streams, self.own) = (Streams::of(begin), 0);
        (self.seen, self.draining) = (0, false);
        self.recorded = Some(Vec::new());
        self.again = Vec::new();
        self.given_again = 0;
        Ok(true)
    }

    /// The number of bytes in the buffer that belong to this part.
    fn available(&mut self) -> io::Result<usize> {
        self.fill(1)?;
        let rest = self.end.map(|end| end.saturating_sub(self.seen));
        if rest == Some(0) {
            if self.ends()? || !self.draining {
                return Ok(0);
            }
            self.end = None;
        }
        let most = rest.filter(|&rest| rest > 0).and_then(|rest| usize::try_from(rest).ok());
        let most = self.up_to_streams()?.min(most.unwrap_or(usize::MAX));
        Ok(self.up_to_joint()?.min(most))
    }

    /// The number of bytes before an MPEG stream whose sound is in other streams.
    fn up_to_streams(&mut self) -> io::Result<usize> {
        while let Some(streams) = &mut self.streams {
            let bytes = &self.buffer[self.start..];
            let rest = usize::try_from(self.own).ok().and_then(|own| bytes.get(own..));
            let Some(rest) = rest.filter(|rest| !rest.is_empty()) else { break };
            match streams.next(rest, self.ended) {
                Next::Bytes(bytes) => self.own += bytes,
                Next::Begin => return Ok(self.own as usize),
                Next::More if self.own > 0 => return Ok(self.own as usize),
                Next::More if !self.ended => self.more()?,
                Next::More | Next::Lost => self.streams = None,
            }
        }
        Ok(usize::MAX)
    }

    /// True at the end that the header gives, if another file begins there. A byte of padding may come before it.
    fn ends(&mut self) -> io::Result<bool> {
        self.fill(LOOKED_AT)?;
        let bytes = &self.buffer[self.start..];
        let padding =
            bytes.first() == Some(&0) && self.end.is_some_and(|end| end % 2 == 1 && self.seen == end);
        let next = &bytes[usize::from(padding)..];
        if !wave::is_sound(next) {
            return Ok(false);
        }
        if padding {
            (self.start, self.seen) = (self.start + 1, self.seen + 1);
        }
        Ok(true)
    }

    /// The number of bytes in the buffer before the beginning of a file of the same format.
    fn up_to_joint(&mut self) -> io::Result<usize> {
        loop {
            let bytes = &self.buffer[self.start..];
            let Some(joint) = self.joint else { return Ok(bytes.len()) };
            let from = joint.least().saturating_sub(self.seen) as usize;
            match joint.find(bytes, from, self.ended) {
                Found::At(at) | Found::PerhapsAt(at) if at > 0 => return Ok(at),
                Found::At(_) => return Ok(0),
                Found::Nowhere => return Ok(bytes.len()),
                Found::PerhapsAt(_) => self.more()?,
            }
        }
    }

    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.given_again < self.again.len() {
            let rest = &self.again[self.given_again..];
            let count = rest.len().min(out.len());
            out[..count].copy_from_slice(&rest[..count]);
            self.given_again += count;
            return Ok(count);
        }
        let count = self.available()?.min(out.len());
        let bytes = &self.buffer[self.start..self.start + count];
        out[..count].copy_from_slice(bytes);
        if let Some(scanner) = &mut self.scanner {
            scanner.feed(bytes);
        }
        match &mut self.recorded {
            Some(recorded) if recorded.len() + count <= RECORDED => recorded.extend_from_slice(bytes),
            recorded => *recorded = None,
        }
        self.start += count;
        self.seen += count as u64;
        self.own = self.own.saturating_sub(count as u64);
        Ok(count)
    }
}

/// A reader of the bytes of one part, to its end. Copies share the position.
#[derive(Clone)]
pub(crate) struct Input(Arc<Mutex<State>>);

impl Input {
    pub fn new(reader: KaldiReader) -> Input {
        Input(Arc::new(Mutex::new(State {
            reader,
            buffer: Vec::new(),
            start: 0,
            ended: false,
            joint: None,
            end: None,
            draining: false,
            streams: None,
            own: 0,
            scanner: None,
            seen: 0,
            recorded: None,
            again: Vec::new(),
            given_again: 0,
            failed: None,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the next part behind the last one. False if there is none.
    pub fn begin(&self) -> io::Result<bool> {
        self.state().begin()
    }

    /// The first bytes of what comes next.
    pub fn peek(&self) -> Vec<u8> {
        let state = self.state();
        let bytes = &state.buffer[state.start..];
        bytes[..bytes.len().min(LOOKED_AT)].to_vec()
    }

    /// The bytes of this part that were given so far; empty if they are too many.
    pub fn recorded(&self) -> Vec<u8> {
        self.state().recorded.clone().unwrap_or_default()
    }

    /// Gives this part again from its beginning. False if too much of it was read.
    pub fn rewind(&self) -> bool {
        let mut state = self.state();
        let state = &mut *state;
        match &state.recorded {
            Some(recorded) => {
                (state.again, state.given_again) = (recorded.clone(), 0);
                true
            }
            None => false,
        }
    }

    /// The part's beginning will not be needed again.
    pub fn forget(&self) {
        let mut state = self.state();
        state.recorded = None;
        // (Room for what was recorded.)
        if state.given_again == state.again.len() {
            (state.again, state.given_again) = (Vec::new(), 0);
        }
    }

    /// Reads the rest of this part, until `most` bytes are read. Returns their number.
    pub fn drain(&self, most: u64) -> io::Result<u64> {
        let (mut out, mut count) = (vec![0; BLOCK], 0);
        self.state().draining = true;
        while count < most {
            match self.state().read(&mut out)? {
                0 => break,
                read => count += read as u64,
            }
        }
        Ok(count)
    }

    /// Bytes of this part so far.
    pub fn seen(&self) -> u64 {
        self.state().seen
    }

    /// The fault of this part, after its end.
    pub fn finding(&self) -> Option<Finding> {
        self.state().scanner.as_mut().and_then(|scanner| scanner.finish())
    }

    /// The failure of the input, if it failed.
    pub fn failure(&self) -> Option<io::Error> {
        self.state().failed.as_ref().map(|(kind, message)| io::Error::new(*kind, message.clone()))
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.state().read(out)
    }
}

impl io::Seek for Input {
    fn seek(&mut self, _: io::SeekFrom) -> io::Result<u64> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}

impl MediaSource for Input {
    fn is_seekable(&self) -> bool {
        false
    }

    fn byte_len(&self) -> Option<u64> {
        None
    }
}
