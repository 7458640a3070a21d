//! [`KaldiReader`]: a buffered source of Kaldi's tokens and numbers, binary or text (`base/io-funcs`).
//!
//! Binary numbers carry a size byte; text numbers are what C++ formatted extraction accepts. Tokens are the same in
//! both modes: letters up to one blank. Errors name the file and the byte (binary) or line (text).
//!
//! Opening and seeking are in `source.rs`, vectors and pairs in `reader/vectors.rs`, the input as a whole in
//! `reader/input.rs`.

pub(crate) mod input;
mod numbers;
pub mod record;
mod vectors;

use std::io::{self, Read};

use self::record::{Entry, Recorder};

use crate::contents::MARK;
use crate::error::{IoError, Position, Result};
use crate::filename::RxFilename;
use crate::source::Source;
use crate::text::{LONGEST_WORD, binary_excerpt, excerpt, found, is_binary, is_space};

const BUFFER_SIZE: usize = 32 * 1024;
/// The longest line, in bytes. What has no lines, such as a device, may have no end.
const LONGEST_LINE: usize = 256 << 20;

/// First bytes of a file compressed by gzip.
const GZIP: &[u8] = b"\x1f\x8b\x08";

pub struct KaldiReader {
    source: Source,
    name: String,
    /// Unread bytes are `buffer[start..end]`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the file of `buffer[start]`.
    position: u64,
    line: u64,
    /// The position after the line that was read last, and its number.
    last_line: (u64, u64),
    /// True if reading began in the middle of a file; lines are then not counted from its beginning.
    inside: bool,
    /// True if this reads an archive, in which another entry may follow each object.
    archive: bool,
    binary: bool,
    end_of_file: bool,
    recorder: Option<Box<Recorder>>,
}

/// The name of standard input in messages.
const STANDARD_INPUT: &str = "standard input";

impl KaldiReader {
    /// Opens an rxfilename and detects the binary header.
    pub fn open(rxfilename: &str) -> Result<Self> {
        let mut reader = Self::open_raw(rxfilename)?;
        reader.detect_header()?;
        Ok(reader)
    }

    /// Opens an rxfilename without looking for a header: archives, scripts, OpenFst files.
    pub fn open_raw(rxfilename: &str) -> Result<Self> {
        let parsed = RxFilename::parse(rxfilename)?;
        let name = crate::filename::printable(rxfilename, STANDARD_INPUT);
        let (source, position) = Source::open(&parsed).map_err(|source| {
            // (Few names of files have blanks, and most commands do.)
            let is_command = matches!(parsed, RxFilename::File(_))
                && name.contains(' ')
                && source.kind() == io::ErrorKind::NotFound;
            let hint = if is_command { " (a command needs | at its end)" } else { "" };
            IoError::Open { name: format!("{name}{hint}"), source }
        })?;
        Ok(Self::new(name, source, vec![0; BUFFER_SIZE], position))
    }

    /// Reads from `r`; `name` is for messages. Text until told otherwise.
    pub fn from_read(name: impl Into<String>, r: impl Read + Send + 'static) -> Self {
        Self::new(name.into(), Source::Other(Box::new(r)), vec![0; BUFFER_SIZE], 0)
    }

    /// Reads from memory. Text until told otherwise.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        let end = bytes.len();
        let mut reader = Self::new(name.into(), Source::Other(Box::new(io::empty())), bytes, 0);
        reader.end = end;
        reader.end_of_file = true;
        reader
    }

    fn new(name: String, source: Source, buffer: Vec<u8>, position: u64) -> Self {
        KaldiReader {
            source,
            name,
            buffer,
            start: 0,
            end: 0,
            position,
            line: 1,
            last_line: (u64::MAX, 0),
            inside: position > 0,
            archive: false,
            binary: false,
            end_of_file: false,
            recorder: None,
        }
    }

    /// Continues with another file. If it is the same file, it stays open, because consecutive entries of a script
    /// usually lie in one archive.
    pub(crate) fn reopen(&mut self, rxfilename: &str) -> Result<()> {
        let parsed = RxFilename::parse(rxfilename)?;
        let name = crate::filename::printable(rxfilename, STANDARD_INPUT);
        let offset = match &parsed {
            RxFilename::Offset(path, offset) if self.source.is_file(path) => *offset,
            _ => {
                *self = Self::open_raw(rxfilename)?;
                return Ok(());
            }
        };
        let buffered =
            offset.checked_sub(self.position).filter(|&ahead| ahead <= (self.end - self.start) as u64);
        match buffered {
            Some(ahead) => self.start += ahead as usize,
            None => {
                self.source.seek(offset).map_err(|source| IoError::Open { name: name.clone(), source })?;
                (self.start, self.end) = (0, 0);
            }
        }
        (self.name, self.position, self.line, self.end_of_file) = (name, offset, 1, false);
        (self.last_line, self.inside) = ((u64::MAX, 0), offset > 0);
        Ok(())
    }

    /// Consumes the header `\0B` if it comes next, and sets the mode. Returns true if the mode is binary.
    pub fn detect_header(&mut self) -> Result<bool> {
        self.binary = false;
        if self.peek_byte()? == Some(0) {
            self.fill(2)?;
            if self.buffered().get(1) != Some(&b'B') {
                return Err(
                    self.error("a zero byte is not followed by 'B', as a binary Kaldi file would have it")
                );
            }
            self.consume(2);
            self.binary = true;
        }
        Ok(self.binary)
    }

    pub fn binary(&self) -> bool {
        self.binary
    }

    pub fn set_binary(&mut self, binary: bool) {
        self.binary = binary;
    }

    /// The file's name as it appears in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes from the beginning of the file to the next unread byte.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The line of a text, from 1, that the next unread byte is in.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// A format error at the present place, or about the line that was just read.
    /// At the end of the input, the failure of the command that wrote it is the error, or that there are no data.
    pub fn error(&self, message: impl Into<String>) -> IoError {
        if let Some(error) = self.error_of_input() {
            return error;
        }
        let position = match self.last_line {
            _ if self.binary || self.inside => Position::Byte(self.position),
            (end, line) if end == self.position => Position::Line(line),
            _ => Position::Line(self.line),
        };
        IoError::Format { name: self.name.clone(), position, message: message.into() }
    }

    /// Makes a format error with the expected content and the next bytes found.
    pub(crate) fn error_expected(&mut self, expected: &str) -> IoError {
        if let Err(e) = self.fill(1) {
            return e;
        }
        let found = match self.buffered() {
            [] => "the end of the file".to_owned(),
            bytes => found(&bytes[..bytes.len().min(24)]),
        };
        self.error(format!("expected {expected}, found {found}"))
    }

    #[inline]
    pub(crate) fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Tries to have `n` (at most a few) bytes buffered; there are fewer only at the end of the file.
    pub(crate) fn fill(&mut self, n: usize) -> Result<()> {
        while (self.end - self.start < n || self.may_begin_with_mark()) && !self.end_of_file {
            if self.start > 0 && !self.keeps_beginning() {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.end_of_file = true,
                Ok(got) => {
                    self.end += got;
                    self.skip_byte_order_mark();
                    self.check_compression()?;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(IoError::Io { name: self.name.clone(), source }),
            }
        }
        Ok(())
    }

    /// True if the bytes read so far may be part of a byte-order mark.
    fn may_begin_with_mark(&self) -> bool {
        let begin = self.buffered();
        self.position == 0 && !begin.is_empty() && begin.len() < MARK.len() && MARK.starts_with(begin)
    }

    /// Editors of other systems put it at the beginning of a text. No binary file begins so.
    fn skip_byte_order_mark(&mut self) {
        if self.position == 0 && self.buffered().starts_with(MARK) {
            self.consume(MARK.len());
        }
    }

    /// Fails if this is the beginning of a compressed file.
    fn check_compression(&self) -> Result<()> {
        if self.position > 0 || !self.buffered().starts_with(GZIP) {
            return Ok(());
        }
        let message = match self.source.path().map(|path| path.display().to_string()) {
            Some(path) if path.ends_with(".tgz") || path.ends_with(".tar.gz") => {
                format!("this is a tar archive compressed by gzip; unpack it ('tar -xzf {path}')")
            }
            Some(path) => {
                format!("this is compressed by gzip; give 'gunzip -c {path} |' in place of the file")
            }
            None => "this is compressed by gzip; give 'gunzip -c FILE |' in place of the file".to_owned(),
        };
        Err(IoError::Format { name: self.name.clone(), position: Position::Byte(0), message })
    }

    /// Consumes buffered bytes without looking at them.
    #[inline]
    fn consume(&mut self, n: usize) {
        self.start += n;
        self.position += n as u64;
    }

    /// Consumes and returns the next byte; counts lines.
    pub(crate) fn next_byte(&mut self) -> Result<Option<u8>> {
        let byte = self.peek_byte()?;
        if let Some(byte) = byte {
            self.consume(1);
            self.line += u64::from(byte == b'\n');
        }
        Ok(byte)
    }

    /// The next byte, not consumed; `None` at the end.
    pub fn peek_byte(&mut self) -> Result<Option<u8>> {
        if self.start == self.end {
            self.fill(1)?;
        }
        Ok(self.buffered().first().copied())
    }

    pub fn at_eof(&mut self) -> Result<bool> {
        Ok(self.peek_byte()?.is_none())
    }

    /// Skips blanks, and consumes `token` and the byte after it if this token comes next. Returns true if it has
    /// consumed them.
    pub fn accept_token(&mut self, token: &str) -> Result<bool> {
        self.skip_whitespace()?;
        let wanted = token.as_bytes();
        self.fill(wanted.len() + 1)?;
        let buffered = self.buffered();
        let accepted =
            buffered.starts_with(wanted) && buffered.get(wanted.len()).is_some_and(|&b| is_space(b));
        if accepted {
            self.line += u64::from(buffered[wanted.len()] == b'\n');
            self.consume(wanted.len() + 1);
            self.note(|| Entry::Token(token.to_owned()));
        }
        Ok(accepted)
    }

    /// Consumes `token` and a space if they come next and are in the buffer, as nearly always in binary files. Returns
    /// true if it has consumed them.
    fn accept_buffered(&mut self, token: &str) -> bool {
        let length = token.len();
        let accepted = self.buffered().get(..=length).is_some_and(|next| {
            let (letters, blank) = next.split_at(length);
            letters == token.as_bytes() && blank == b" "
        });
        if accepted {
            self.consume(length + 1);
        }
        accepted
    }

    /// The letter that tells optional fields apart: after blanks (text only), the byte after `<`, or else the next byte
    /// itself. Consumes only blanks.
    pub fn peek_token(&mut self) -> Result<Option<u8>> {
        if !self.binary {
            self.skip_whitespace()?;
        }
        self.fill(2)?;
        Ok(match self.buffered() {
            [b'<', second, ..] => Some(*second),
            [first, ..] => Some(*first),
            [] => None,
        })
    }

    pub fn skip_whitespace(&mut self) -> Result<()> {
        while self.peek_byte()?.is_some_and(is_space) {
            self.next_byte()?;
        }
        Ok(())
    }

    /// Consumes all bytes up to and including the next occurrence of `mark`.
    pub fn skip_past(&mut self, mark: &str) -> Result<()> {
        let mark = mark.as_bytes();
        loop {
            self.fill(mark.len())?;
            let bytes = self.buffered();
            let found = bytes.windows(mark.len()).position(|window| window == mark);
            let skipped = match found {
                Some(at) => at + mark.len(),
                // The mark may begin at the end of the buffer.
                None if bytes.len() >= mark.len() => bytes.len() - (mark.len() - 1),
                None => {
                    return Err(self.error(format!("the file ends before '{}'", excerpt(mark))));
                }
            };
            self.line += bytes[..skipped].iter().filter(|&&byte| byte == b'\n').count() as u64;
            self.consume(skipped);
            if found.is_some() {
                return Ok(());
            }
        }
    }

    /// Appends to `out` the bytes up to the next whitespace or the end, consuming them.
    pub(crate) fn read_word_into(&mut self, out: &mut Vec<u8>) -> Result<()> {
        while self.peek_byte()?.is_some() {
            let length = self.buffered().iter().position(|&b| is_space(b));
            let take = length.unwrap_or(self.end - self.start);
            out.extend_from_slice(&self.buffer[self.start..self.start + take]);
            if out.len() > LONGEST_WORD {
                return Err(self.error(format!(
                    "expected a word and a blank, found more than {LONGEST_WORD} bytes without one: '{}'",
                    excerpt(out)
                )));
            }
            self.consume(take);
            if length.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// `what` names a kind of text, for the message about text in another encoding, and about binary data.
    pub(crate) fn to_utf8(&self, bytes: Vec<u8>, what: &str) -> Result<String> {
        String::from_utf8(bytes).map_err(|e| {
            let bytes = e.as_bytes();
            self.error(match is_binary(bytes) {
                true => format!("expected a {what}, found {}", binary_excerpt(bytes)),
                false => format!("{what} '{}' is not valid UTF-8", excerpt(bytes)),
            })
        })
    }

    /// A token's letters, not the blank after them.
    fn read_token_letters(&mut self, expected: &str, kind: &str) -> Result<String> {
        self.skip_whitespace()?;
        let mut word = Vec::new();
        self.read_word_into(&mut word)?;
        if word.is_empty() {
            return Err(self.error_expected(expected));
        }
        self.to_utf8(word, kind)
    }

    /// Skips whitespace, reads a token and the one blank that must follow it.
    pub fn read_token(&mut self) -> Result<String> {
        let token = self.read_token_letters("a token", "token")?;
        match self.next_byte()? {
            Some(_) => {
                self.note(|| Entry::Token(token.clone()));
                Ok(token)
            }
            None => {
                Err(self
                    .error(format!("the file ends right after the token '{}'", excerpt(token.as_bytes()))))
            }
        }
    }

    /// Reads a token that must be `token`, or `token` without its leading `<` (which a caller may have consumed).
    pub fn expect_token(&mut self, token: &str) -> Result<()> {
        if self.accept_buffered(token) {
            self.note(|| Entry::Token(token.to_owned()));
            return Ok(());
        }
        let first = self.is_first();
        let wanted = format!("token '{token}'");
        let found = self.read_token_letters(&wanted, &wanted);
        let found = found.map_err(|e| if first { self.explain_file(e) } else { e })?;
        let ends = self.next_byte()?.is_none();
        if found == token || token.strip_prefix('<') == Some(&found) {
            self.note(|| Entry::Token(token.to_owned()));
            return Ok(());
        }
        let found = excerpt(found.as_bytes());
        let end = if ends { " and the end of the file" } else { "" };
        let error = self.error(format!("expected token '{token}', found '{found}'{end}"));
        Err(if first { self.explain_file(error) } else { error })
    }

    /// Reads `first second`, or just `second`: for objects with an opening token that may have been consumed already.
    pub fn expect_one_or_two_tokens(&mut self, first: &str, second: &str) -> Result<()> {
        let found = self.read_token()?;
        if found == first {
            self.expect_token(second)
        } else if found == second {
            Ok(())
        } else {
            let found = excerpt(found.as_bytes());
            Err(self.error(format!("expected token '{first}' or '{second}', found '{found}'")))
        }
    }

    /// The rest of the line without its `\n`, which is consumed; `None` at the end of the file.
    pub fn read_line(&mut self) -> Result<Option<String>> {
        Ok(self.read_line_and_end()?.map(|(line, _)| line))
    }

    /// Does the same as [`read_line`](Self::read_line) for lines that programs write. It is an error if the file ends
    /// before the line does.
    pub fn read_complete_line(&mut self) -> Result<Option<String>> {
        match self.read_line_and_end()? {
            None => Ok(None),
            Some((line, true)) => Ok(Some(line)),
            Some((_, false)) => Err(self.error(
                "the file ends inside a line: expected a line break behind the last value (the file may be cut short)",
            )),
        }
    }

    /// Returns the rest of the line, and true if it ends with `\n`.
    fn read_line_and_end(&mut self) -> Result<Option<(String, bool)>> {
        if self.at_eof()? {
            return Ok(None);
        }
        let mut line = Vec::new();
        while self.peek_byte()?.is_some() {
            let newline = self.buffered().iter().position(|&b| b == b'\n');
            let take = newline.unwrap_or(self.end - self.start);
            if line.len() + take > LONGEST_LINE {
                return Err(self
                    .error(format!("expected a line of at most {LONGEST_LINE} bytes, found a longer one")));
            }
            crate::memory::reserve_more(&mut line, take, "a line of the file")
                .map_err(|e| self.error(e.to_string()))?;
            line.extend_from_slice(&self.buffer[self.start..self.start + take]);
            self.consume(take);
            if newline.is_some() {
                let text = self.to_utf8(line, "line")?;
                let number = self.line;
                self.next_byte()?;
                self.last_line = (self.position, number);
                return Ok(Some((text, true)));
            }
        }
        self.last_line = (self.position, self.line);
        Ok(Some((self.to_utf8(line, "line")?, false)))
    }

    /// Reads one raw byte.
    #[inline]
    pub fn read_byte(&mut self) -> Result<u8> {
        let mut byte = [0];
        self.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    /// Fills `out`, or fails if the file ends before.
    #[inline]
    pub fn read_exact(&mut self, out: &mut [u8]) -> Result<()> {
        match self.buffered().get(..out.len()) {
            Some(next) => {
                out.copy_from_slice(next);
                self.consume(out.len());
                Ok(())
            }
            None => self.read_beyond_buffer(out),
        }
    }

    fn read_beyond_buffer(&mut self, out: &mut [u8]) -> Result<()> {
        let wanted = out.len();
        match Read::read_exact(self, out) {
            Ok(()) => Ok(()),
            Err(e) => Err(self.bulk_error(e, wanted)),
        }
    }

    /// Describes the failure of a read of `wanted` bytes.
    pub(crate) fn bulk_error(&self, e: io::Error, wanted: usize) -> IoError {
        if e.kind() == io::ErrorKind::UnexpectedEof {
            self.error(format!("the file ends within a block of {wanted} bytes"))
        } else {
            IoError::Io { name: self.name.clone(), source: e }
        }
    }
}

/// Raw bytes, for bulk data; large reads bypass the buffer.
impl Read for KaldiReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end && out.len() >= self.buffer.len() && !self.end_of_file {
            let got = self.source.read(out)?;
            self.end_of_file = got == 0;
            self.position += got as u64;
            return Ok(got);
        }
        self.fill(1).map_err(|e| match e {
            IoError::Io { source, .. } => source,
            other => io::Error::other(other),
        })?;
        let got = out.len().min(self.end - self.start);
        out[..got].copy_from_slice(&self.buffer[self.start..self.start + got]);
        self.consume(got);
        Ok(got)
    }
}
