//! [`KaldiWriter`]: a buffered sink of Kaldi's tokens and numbers, binary or text (`base/io-funcs`).
//!
//! Numbers in text have the form of C++ streams with precision 7. `sink.rs` has the destinations of the bytes.

use std::io::Write;

use byteorder::{ByteOrder, LittleEndian};

use crate::error::{IoError, Result};
use crate::filename::WxFilename;
use crate::number::Real;
use crate::sink::Sink;
use crate::text::{FILE_PRECISION, excerpt, push_g, token_problem};

const BUFFER_SIZE: usize = 32 * 1024;

pub struct KaldiWriter {
    sink: Sink,
    name: String,
    /// Bytes that are still to go out are the first `filled`.
    buffer: Vec<u8>,
    filled: usize,
    /// Bytes written, including those still in `buffer`.
    position: u64,
    binary: bool,
    number: String,
    /// See [`checking`](Self::checking).
    finite: Option<bool>,
    whole_numbers_as_bytes: bool,
}

macro_rules! write_integer {
    ($name:ident, $type:ty, $code:expr) => {
        #[doc = concat!("Writes a number: in binary the size byte ", stringify!($code), " and the value.")]
        pub fn $name(&mut self, value: $type) -> Result<()> {
            if self.binary {
                let mut bytes = [$code as u8; 1 + size_of::<$type>()];
                bytes[1..].copy_from_slice(&value.to_le_bytes());
                self.write_bytes(&bytes)
            } else {
                self.write_display(value)
            }
        }
    };
}

impl KaldiWriter {
    /// Opens a wxfilename and, if `binary`, writes the header. A regular file is written under a temporary name in the
    /// same folder, and [`finish`](Self::finish) gives it its real name. So a file with the real name is complete. A file that
    /// exists and is empty, has other names, or is open in a client stays the same file: `finish` copies the contents into it.
    pub fn create(wxfilename: &str, binary: bool) -> Result<Self> {
        let mut writer = Self::open(wxfilename, Sink::create)?;
        writer.binary = binary;
        if binary {
            writer.write_header()?;
        }
        Ok(writer)
    }

    /// Returns an error if [`create`](Self::create) would fail. Programs that write only at the end of a long run call
    /// it at the start. An existing file stays unchanged.
    pub fn check(wxfilename: &str) -> Result<()> {
        let parsed = WxFilename::parse(wxfilename)?;
        let name = crate::filename::printable(wxfilename, "standard output");
        Sink::check(&parsed).map_err(|source| IoError::Open { name, source })
    }

    /// Opens a wxfilename for an archive, without a header. A file is truncated at once, and readers may follow it as
    /// it grows.
    pub(crate) fn create_streaming(wxfilename: &str) -> Result<Self> {
        Self::open(wxfilename, Sink::create_in_place)
    }

    fn open(wxfilename: &str, open: impl FnOnce(&WxFilename) -> std::io::Result<Sink>) -> Result<Self> {
        let parsed = WxFilename::parse(wxfilename)?;
        let name = crate::filename::printable(wxfilename, "standard output");
        let sink = open(&parsed).map_err(|source| IoError::Open { name: name.clone(), source })?;
        Ok(Self::new(name, sink, true))
    }

    /// Writes to `w`, without header; `name` is for messages.
    pub(crate) fn from_write(name: impl Into<String>, w: impl Write + Send + 'static, binary: bool) -> Self {
        Self::new(name.into(), Sink::Other(Box::new(w)), binary)
    }

    /// Writes to memory, without header; see [`into_bytes`](Self::into_bytes).
    pub fn in_memory(binary: bool) -> Self {
        Self::new("memory".to_owned(), Sink::Memory, binary)
    }

    fn new(name: String, sink: Sink, binary: bool) -> Self {
        KaldiWriter {
            sink,
            name,
            buffer: Vec::new(),
            filled: 0,
            position: 0,
            binary,
            number: String::new(),
            finite: None,
            whole_numbers_as_bytes: false,
        }
    }

    /// Makes a writer that keeps no data, but notes if all numbers are finite.
    pub fn checking() -> Self {
        let mut writer = Self::from_write("", std::io::sink(), true);
        writer.finite = Some(true);
        writer
    }

    /// True if no NaN or infinite value has been written to a writer made by [`checking`](Self::checking).
    pub fn all_finite(&self) -> bool {
        self.finite.unwrap_or(true)
    }

    /// From now on binary matrices of floats take a byte an element where their rows are whole numbers from -127 to 127
    /// times a scale. Only this library reads them.
    pub fn write_whole_numbers_as_bytes(&mut self, on: bool) {
        self.whole_numbers_as_bytes = on;
    }
    pub(crate) fn writes_whole_numbers_as_bytes(&self) -> bool {
        self.whole_numbers_as_bytes
    }

    /// Looks at values, if that is all that this writer does.
    pub(crate) fn checks<T: Real>(&mut self, values: &[T]) -> bool {
        match &mut self.finite {
            Some(finite) => *finite = *finite && crate::finite::all_finite(values),
            None => return false,
        }
        true
    }

    /// Returns the bytes written to a writer made by [`in_memory`](Self::in_memory).
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.buffer.truncate(std::mem::take(&mut self.filled));
        std::mem::take(&mut self.buffer)
    }

    pub fn binary(&self) -> bool {
        self.binary
    }

    /// Chooses text or binary mode for the following objects.
    pub fn set_binary(&mut self, binary: bool) {
        self.binary = binary;
    }

    /// The file's name as it appears in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes written since the writer was made.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Writes `\0B` in binary mode; no effect in text mode.
    pub fn write_header(&mut self) -> Result<()> {
        if self.binary { self.write_bytes(b"\0B") } else { Ok(()) }
    }

    #[inline]
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() >= BUFFER_SIZE {
            return self.write_much(bytes);
        }
        self.next(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// The next `n` bytes of the buffer, which the caller writes.
    #[inline]
    fn next(&mut self, n: usize) -> Result<&mut [u8]> {
        if self.buffer.len() - self.filled < n {
            self.make_room(n)?;
        }
        let start = self.filled;
        self.filled += n;
        self.position += n as u64;
        Ok(&mut self.buffer[start..start + n])
    }

    /// Makes room for `n` bytes: at most [`BUFFER_SIZE`], unless all stays in memory.
    fn make_room(&mut self, n: usize) -> Result<()> {
        let size = match self.sink {
            Sink::Memory => (self.filled + n).next_power_of_two(),
            _ => BUFFER_SIZE,
        };
        self.flush_buffer()?;
        self.buffer.resize(size, 0);
        Ok(())
    }

    fn write_much(&mut self, bytes: &[u8]) -> Result<()> {
        if matches!(self.sink, Sink::Memory) {
            self.next(bytes.len())?.copy_from_slice(bytes);
            return Ok(());
        }
        self.flush_buffer()?;
        self.position += bytes.len() as u64;
        let result = self.sink.write_all(bytes);
        result.map_err(|e| self.io_error(e))
    }

    pub fn write_str(&mut self, text: &str) -> Result<()> {
        self.write_bytes(text.as_bytes())
    }

    /// Writes a token and one space, the same in both modes.
    pub fn write_token(&mut self, token: &str) -> Result<()> {
        if let Some(problem) = token_problem(token) {
            let token = excerpt(token.as_bytes());
            return Err(IoError::Value(format!("'{token}' cannot be written as a token: {problem}")));
        }
        if token.len() >= BUFFER_SIZE {
            self.write_str(token)?;
            return self.write_bytes(b" ");
        }
        let to = self.next(token.len() + 1)?;
        let (letters, blank) = to.split_at_mut(token.len());
        letters.copy_from_slice(token.as_bytes());
        blank.fill(b' ');
        Ok(())
    }

    /// Ends a line in text mode; no effect in binary mode.
    pub fn newline_in_text(&mut self) -> Result<()> {
        if self.binary { Ok(()) } else { self.write_bytes(b"\n") }
    }

    write_integer!(write_i8, i8, 1);
    write_integer!(write_i16, i16, 2);
    write_integer!(write_i32, i32, 4);
    write_integer!(write_i64, i64, 8);
    write_integer!(write_u8, u8, -1i8);
    write_integer!(write_u16, u16, -2i8);
    write_integer!(write_u32, u32, -4i8);
    write_integer!(write_u64, u64, -8i8);

    pub fn write_f32(&mut self, value: f32) -> Result<()> {
        self.checks(&[value]);
        if self.binary {
            let mut bytes = [4; 5];
            bytes[1..].copy_from_slice(&value.to_le_bytes());
            self.write_bytes(&bytes)
        } else {
            self.write_text_real(f64::from(value))
        }
    }

    pub fn write_f64(&mut self, value: f64) -> Result<()> {
        self.checks(&[value]);
        if self.binary {
            self.write_bytes(&[8])?;
            self.write_bytes(&value.to_le_bytes())
        } else {
            self.write_text_real(value)
        }
    }

    pub fn write_bool(&mut self, value: bool) -> Result<()> {
        self.write_bytes(if value { b"T" } else { b"F" })?;
        if self.binary { Ok(()) } else { self.write_bytes(b" ") }
    }

    /// A number and a space, in text.
    pub(crate) fn write_text_real(&mut self, value: f64) -> Result<()> {
        let mut number = std::mem::take(&mut self.number);
        number.clear();
        push_g(&mut number, value, FILE_PRECISION);
        number.push(' ');
        let result = self.write_bytes(number.as_bytes());
        self.number = number;
        result
    }

    fn write_display(&mut self, value: impl std::fmt::Display) -> Result<()> {
        self.write_bytes(format!("{value} ").as_bytes())
    }

    /// `WriteIntegerVector`.
    pub fn write_i32_vector(&mut self, values: &[i32]) -> Result<()> {
        if self.binary {
            self.write_bytes(&[4])?;
            self.write_raw_count(values.len())?;
            self.write_converted(values, LittleEndian::write_i32_into)
        } else {
            self.write_text_integers(values)
        }
    }

    /// Writes a list of bytes, as `WriteIntegerVector` does.
    pub fn write_u8_vector(&mut self, values: &[u8]) -> Result<()> {
        if self.binary {
            self.write_bytes(&[1])?;
            self.write_raw_count(values.len())?;
            self.write_bytes(values)
        } else {
            self.write_text_integers(values)
        }
    }

    /// `WriteIntegerPairVector`.
    pub fn write_i32_pairs(&mut self, values: &[(i32, i32)]) -> Result<()> {
        if !self.binary {
            self.write_bytes(b"[ ")?;
            for (first, second) in values {
                self.write_bytes(format!("{first},{second} ").as_bytes())?;
            }
            return self.write_bytes(b"]\n");
        }
        self.write_bytes(&[4])?;
        self.write_raw_count(values.len())?;
        values.iter().try_for_each(|&(first, second)| {
            self.write_bytes(&first.to_le_bytes())?;
            self.write_bytes(&second.to_le_bytes())
        })
    }

    fn write_text_integers<T: std::fmt::Display>(&mut self, values: &[T]) -> Result<()> {
        self.write_bytes(b"[ ")?;
        values.iter().try_for_each(|value| self.write_display(value))?;
        self.write_bytes(b"]\n")
    }

    /// A size as the 32-bit count that Kaldi's formats use.
    pub fn count(&self, n: usize) -> Result<i32> {
        i32::try_from(n)
            .map_err(|_| IoError::Value(format!("{}: {n} elements are too many for the format", self.name)))
    }

    fn write_raw_count(&mut self, n: usize) -> Result<()> {
        let count = self.count(n)?;
        self.write_bytes(&count.to_le_bytes())
    }

    /// Writes raw little-endian values, which are converted in the buffer, a block at a time.
    pub(crate) fn write_converted<T>(
        &mut self,
        values: &[T],
        convert: impl Fn(&[T], &mut [u8]),
    ) -> Result<()> {
        for block in values.chunks(BUFFER_SIZE / size_of::<T>()) {
            convert(block, self.next(size_of_val(block))?);
        }
        Ok(())
    }

    fn flush_buffer(&mut self) -> Result<()> {
        if matches!(self.sink, Sink::Memory) {
            return Ok(());
        }
        let result = self.sink.write_all(&self.buffer[..self.filled]);
        self.filled = 0;
        result.map_err(|e| self.io_error(e))
    }

    pub fn flush(&mut self) -> Result<()> {
        self.flush_buffer()?;
        let result = self.sink.flush();
        result.map_err(|e| self.io_error(e))
    }

    /// Writes the remaining data and closes. A file takes its real name. A command is waited for, and its failure is an
    /// error. Without this call a file under a temporary name disappears.
    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.sink.finish(&self.name)
    }

    /// Does the same as [`finish`](Self::finish), but a file that is written under a temporary name takes this name instead, in the same
    /// folder: the file of an interrupted work, which is not whole.
    pub fn finish_as(mut self, file: &str) -> Result<()> {
        self.flush()?;
        if self.sink.name_differently(file.as_ref()) {
            file.clone_into(&mut self.name);
        }
        self.sink.finish(&self.name)
    }

    fn io_error(&self, source: std::io::Error) -> IoError {
        IoError::Io { name: self.name.clone(), source }
    }
}

/// Flushes the buffer if possible, as any stream does: an archive that ends early because of an error holds the entries
/// written so far. Only `flush` and `finish` report errors.
impl Drop for KaldiWriter {
    fn drop(&mut self) {
        if self.filled > 0 && !self.sink.is_temporary() {
            let _ = self.flush_buffer();
        }
    }
}
