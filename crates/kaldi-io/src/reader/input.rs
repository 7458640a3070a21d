//! The input as a whole: its end, its failures, its contents, and skipping.

use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use super::KaldiReader;
use crate::contents::{Contents, SAMPLE};
use crate::error::{IoError, Position, Result};
use crate::mapped::MappedFile;
use crate::source::Source;
use crate::text::is_space;

/// Place and first bytes of an object, kept until it has been read, so that a message can name its actual kind.
pub(crate) struct Beginning {
    position: u64,
    line: u64,
    bytes: [u8; SAMPLE],
    length: usize,
}

/// Bytes and lines from the beginning of an object within which a wrong kind is noticed.
const NEAR_BYTES: u64 = 64;
const NEAR_LINES: u64 = 1;

impl KaldiReader {
    /// Ends reading; for a pipe, waits for the command and reports its failure.
    pub fn close(mut self) -> Result<()> {
        self.source.close()
    }

    /// Skips blanks, and ends reading after an object. If a command has written all its output, its failure is an
    /// error. If it would write more, the closed pipe stops it, and its failure is ignored.
    pub fn finish(mut self) -> Result<()> {
        self.skip_whitespace()?;
        if self.at_eof()? { self.close() } else { Ok(()) }
    }

    /// Returns all bytes of the mapped input file. [`position`](Self::position) is the position of the next unread
    /// byte. `None` if the input is not a file, or cannot be mapped.
    pub fn map(&self) -> Option<MappedFile> {
        self.source.file().and_then(MappedFile::new)
    }

    /// Goes on at a byte that has not been read yet.
    ///
    /// # Errors
    /// The byte has been read, is behind the end, or is behind the buffer of an input that is not a file.
    pub fn skip_to(&mut self, position: u64) -> Result<()> {
        let ahead = position.checked_sub(self.position);
        let ahead = ahead.ok_or_else(|| self.error(format!("byte {position} has been read already")))?;
        if ahead <= self.buffered().len() as u64 {
            self.consume(ahead as usize);
            return Ok(());
        }
        self.source.seek(position).map_err(|source| IoError::Io { name: self.name.clone(), source })?;
        (self.start, self.end, self.position) = (0, 0, position);
        Ok(())
    }

    /// True if this reads the output of a command.
    pub(crate) fn is_pipe(&self) -> bool {
        self.source.is_pipe()
    }

    /// True if the input is one file with one object: it was opened at its beginning, and is not an archive. Bytes
    /// after the object then belong to it.
    pub fn is_whole(&self) -> bool {
        !self.inside && !self.archive
    }

    /// True if this reads an archive from one entry to the next.
    pub(crate) fn is_archive(&self) -> bool {
        self.archive
    }

    /// Bytes from the next unread one to the end of the input, if that is a regular file.
    pub fn bytes_left(&self) -> Option<u64> {
        let data = self.source.file()?.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some(data.len().saturating_sub(self.position))
    }

    pub(crate) fn set_archive(&mut self) {
        self.archive = true;
    }

    /// Returns the next `n` bytes (at most a few hundred) without consuming them; fewer only at the end.
    pub fn peek_bytes(&mut self, n: usize) -> Result<&[u8]> {
        self.fill(n)?;
        let bytes = self.buffered();
        Ok(&bytes[..bytes.len().min(n)])
    }

    /// Returns the kind of the object that comes next, if its first bytes show it. Nothing is consumed.
    pub fn peek_contents(&mut self) -> Result<Option<Contents>> {
        Ok(Contents::of(self.peek_bytes(SAMPLE)?))
    }

    /// Returns the next bytes that have been read, without consuming them: at least one, unless the input ends.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn peek_some(&mut self) -> Result<&[u8]> {
        self.fill(1)?;
        Ok(self.buffered())
    }

    /// Skips `n` bytes; returns the number skipped. In a file, skipping reads no data.
    pub fn skip_bytes(&mut self, n: u64) -> Result<u64> {
        let buffered = n.min(self.buffered().len() as u64);
        self.consume(buffered as usize);
        let rest = n - buffered;
        let failed = |name: &str, source| IoError::Io { name: name.to_owned(), source };
        if rest == 0 {
            return Ok(n);
        }
        if let Some(data) =
            self.source.file().and_then(|file| file.metadata().ok()).filter(|data| data.is_file())
        {
            let there = data.len().saturating_sub(self.position).min(rest);
            self.source.seek(self.position + there).map_err(|e| failed(&self.name, e))?;
            self.position += there;
            return Ok(buffered + there);
        }
        let name = self.name.clone();
        let there = io::copy(&mut self.take(rest), &mut io::sink()).map_err(|e| failed(&name, e))?;
        Ok(buffered + there)
    }

    /// Returns the command that writes the input, without the `|` behind it. `None` if the input is no command.
    pub fn command(&self) -> Option<&str> {
        match &self.source {
            Source::Pipe(pipe) => Some(pipe.command()),
            Source::File(..) | Source::Stdin(_) | Source::Other(_) => None,
        }
    }

    /// True if [`skip_bytes`](Self::skip_bytes) reads no data.
    pub fn is_file(&self) -> bool {
        self.source.file().and_then(|file| file.metadata().ok()).is_some_and(|data| data.is_file())
    }

    /// Returns the reason why the input has ended: the command that wrote it failed, or the input is empty.
    pub(super) fn error_of_input(&self) -> Option<IoError> {
        if !self.end_of_file || self.start < self.end {
            return None;
        }
        if let Some(failure) = self.source.failure() {
            return Some(failure);
        }
        match self.source {
            _ if self.position > 0 => None,
            Source::Pipe(_) => Some(IoError::Empty(format!("{}: the command wrote nothing", self.name))),
            Source::File(..) | Source::Stdin(_) => Some(IoError::Empty(format!("{} is empty", self.name))),
            Source::Other(_) => None,
        }
    }

    /// Notes that an object begins here.
    pub(crate) fn beginning(&mut self) -> Result<Beginning> {
        self.peek_byte()?;
        let mut bytes = [0; SAMPLE];
        let length = self.buffered().len().min(SAMPLE);
        bytes[..length].copy_from_slice(&self.buffered()[..length]);
        Ok(Beginning { position: self.position, line: self.line, bytes, length })
    }

    /// Adds the object's kind to an error at its beginning, if `reads` does not accept that kind.
    pub(crate) fn explain(
        &self,
        error: IoError,
        beginning: &Beginning,
        reads: fn(&Contents) -> bool,
    ) -> IoError {
        let near = match &error {
            IoError::Format { position: Position::Byte(at), .. } => *at <= beginning.position + NEAR_BYTES,
            IoError::Format { position: Position::Line(at), .. } => *at <= beginning.line + NEAR_LINES,
            _ => false,
        };
        if !near {
            return error;
        }
        let said = said(&error);
        error.remark(|| {
            let more = self.look_back(beginning);
            let sample = more.as_deref().unwrap_or(&beginning.bytes[..beginning.length]);
            if self.is_whole()
                && let Some((key, contents)) = Contents::of_archive(sample)
            {
                return Some(format!(
                    "this is an archive ('ark:{}'; its first entry is '{key}', {contents}), and no offset says where in it to read, \
                     as in 'file.ark:123'",
                    self.name
                ));
            }
            let found =
                Contents::of(sample).filter(|contents| !reads(contents) && !is_said(contents, &said))?;
            // Scripts pass this option to the programs that make examples.
            let option = match found == Contents::Posterior && reads(&Contents::Integers) {
                true => " (--target-type=post of train.sh)",
                false => "",
            };
            Some(format!("this looks like {found}{option}"))
        })
    }

    /// Adds the kind of a whole file to an error, if it begins with another kind than expected.
    pub(super) fn explain_file(&self, error: IoError) -> IoError {
        let said = said(&error);
        error.remark(|| {
            let mut bytes = vec![0; SAMPLE];
            let sample = match self.source.file().filter(|_| self.is_whole()) {
                Some(file) => {
                    let length = file.read_at(&mut bytes, 0).ok()?;
                    &bytes[..length]
                }
                None => self.first_bytes()?,
            };
            match Contents::of_archive(sample) {
                Some((key, contents)) => {
                    Some(format!("this looks like an archive, whose first entry is '{key}', {contents}"))
                }
                None => Contents::of(sample)
                    .filter(|contents| !is_said(contents, &said))
                    .map(|contents| format!("this looks like {contents}")),
            }
        })
    }

    /// The first bytes of an input that is no file, while they are in the buffer.
    fn first_bytes(&self) -> Option<&[u8]> {
        let are_there = self.is_whole() && self.position == self.start as u64;
        are_there.then(|| &self.buffer[..self.end.min(SAMPLE)])
    }

    /// True while the first bytes stay in the buffer, which has room for more.
    pub(super) fn keeps_beginning(&self) -> bool {
        self.position == self.start as u64 && self.end < SAMPLE
    }

    /// True at the first token of an input.
    pub(super) fn is_first(&self) -> bool {
        let before =
            || self.first_bytes().is_some() && self.buffer[..self.start].iter().copied().all(is_space);
        self.position < 3 || before()
    }

    /// The first bytes of an object in a file, if too few of them were known.
    fn look_back(&self, beginning: &Beginning) -> Option<Vec<u8>> {
        let file = self.source.file().filter(|_| beginning.length < SAMPLE)?;
        let mut bytes = vec![0; SAMPLE];
        let length = file.read_at(&mut bytes, beginning.position).ok()?;
        bytes.truncate(length);
        Some(bytes)
    }
}

/// The message of an error about a file's contents.
fn said(error: &IoError) -> String {
    match error {
        IoError::Format { message, .. } => message.clone(),
        _ => String::new(),
    }
}

/// True if a message names the token with which an object begins, and its kind would be the same again.
fn is_said(contents: &Contents, message: &str) -> bool {
    !contents.has_name()
        && matches!(contents, Contents::Object(token) if message.contains(&format!("found '{token}'")))
}

impl Beginning {
    /// Returns the kind of the object if its first bytes show it.
    pub(crate) fn contents(&self) -> Option<Contents> {
        Contents::of(&self.bytes[..self.length])
    }

    /// The first key and the kind of its object, if this is the beginning of an archive.
    pub(crate) fn archive(&self) -> Option<(&str, Contents)> {
        Contents::of_archive(&self.bytes[..self.length])
    }
}
