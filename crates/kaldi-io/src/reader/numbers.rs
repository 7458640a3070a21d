//! Single numbers (`ReadBasicType`).

use super::KaldiReader;
use super::record::{Entry, Real};
use crate::error::Result;
use crate::text::excerpt;

/// Longest run of characters in a text that is read as one number.
const LONGEST_NUMBER: usize = 512;

macro_rules! read_integer {
    ($name:ident, $type:ty, $code:expr, $what:literal) => {
        #[doc = concat!("Reads ", $what, ": in binary the size byte ", stringify!($code), " and the value.")]
        pub fn $name(&mut self) -> Result<$type> {
            if !self.binary {
                return self.read_text_integer($what);
            }
            let mut bytes = [0; size_of::<$type>()];
            match self.take_buffered($code as u8) {
                Some(buffered) => bytes = buffered,
                None => {
                    self.expect_code(&[$code as u8], $what)?;
                    self.read_exact(&mut bytes)?;
                }
            }
            let value = <$type>::from_le_bytes(bytes);
            self.note(|| Entry::Int(value as i64));
            Ok(value)
        }
    };
}

impl KaldiReader {
    read_integer!(read_i8, i8, 1, "an 8-bit integer");
    read_integer!(read_i16, i16, 2, "a 16-bit integer");
    read_integer!(read_i32, i32, 4, "a 32-bit integer");
    read_integer!(read_i64, i64, 8, "a 64-bit integer");
    read_integer!(read_u8, u8, -1i8, "an unsigned 8-bit integer");
    read_integer!(read_u16, u16, -2i8, "an unsigned 16-bit integer");
    read_integer!(read_u32, u32, -4i8, "an unsigned 32-bit integer");
    read_integer!(read_u64, u64, -8i8, "an unsigned 64-bit integer");

    /// Reads a number stored as float or double.
    pub fn read_f32(&mut self) -> Result<f32> {
        if self.binary {
            return self.read_binary_real().map(|v| v as f32);
        }
        let word = self.read_text_number(true, "a floating-point number")?;
        match word.parse::<f32>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(self.error(format!("'{word}' is not a floating-point number in range"))),
        }
    }

    /// Reads a number stored as float or double.
    pub fn read_f64(&mut self) -> Result<f64> {
        if self.binary {
            return self.read_binary_real();
        }
        let word = self.read_text_number(true, "a floating-point number")?;
        match word.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(self.error(format!("'{word}' is not a floating-point number in range"))),
        }
    }

    /// The N bytes after a size byte that must be `code`, if both are in the buffer, as nearly always.
    #[inline]
    fn take_buffered<const N: usize>(&mut self, code: u8) -> Option<[u8; N]> {
        let (first, rest) = self.buffered().split_first()?;
        let bytes = *rest.first_chunk::<N>()?;
        if *first != code {
            return None;
        }
        self.consume(1 + N);
        Some(bytes)
    }

    fn read_binary_real(&mut self) -> Result<f64> {
        let before = self.position;
        let value = self.read_real_of_any_size()?;
        let bytes = before + 1..self.position;
        self.note(|| Entry::Real(Real { value, bytes }));
        Ok(value)
    }

    fn read_real_of_any_size(&mut self) -> Result<f64> {
        if let Some(bytes) = self.take_buffered(4) {
            return Ok(f64::from(f32::from_le_bytes(bytes)));
        }
        if self.expect_code(&[4, 8], "a floating-point number")? == 4 {
            let mut bytes = [0; 4];
            self.read_exact(&mut bytes)?;
            Ok(f64::from(f32::from_le_bytes(bytes)))
        } else {
            let mut bytes = [0; 8];
            self.read_exact(&mut bytes)?;
            Ok(f64::from_le_bytes(bytes))
        }
    }

    /// Reads `T` or `F`.
    pub fn read_bool(&mut self) -> Result<bool> {
        if !self.binary {
            self.skip_whitespace()?;
        }
        let value = match self.peek_byte()? {
            Some(b'T') => true,
            Some(b'F') => false,
            _ => return Err(self.error_expected("'T' or 'F'")),
        };
        self.next_byte()?;
        self.note(|| Entry::Bool(value));
        Ok(value)
    }

    /// Consumes the size byte of a binary number, which must be one of `codes`.
    pub(super) fn expect_code(&mut self, codes: &[u8], what: &str) -> Result<u8> {
        match self.peek_byte()? {
            Some(code) if codes.contains(&code) => {
                self.next_byte()?;
                Ok(code)
            }
            Some(other) => {
                let code = codes[0] as i8;
                Err(self
                    .error(format!("expected {what} (size byte {code}), found size byte {}", other as i8)))
            }
            None => Err(self.error(format!("expected {what}, found the end of the file"))),
        }
    }

    pub(super) fn read_text_integer<T: std::str::FromStr>(&mut self, what: &str) -> Result<T> {
        let word = self.read_text_number(false, what)?;
        word.parse().map_err(|_| self.error(format!("expected {what}, but '{word}' does not fit")))
    }

    /// The characters that C++ formatted extraction takes for a number, after blanks; stops at the first other.
    pub(crate) fn read_text_number(&mut self, real: bool, what: &str) -> Result<String> {
        self.skip_whitespace()?;
        let mut word = Vec::new();
        let (mut digits, mut point, mut exponent) = (false, false, false);
        while let Some(byte) = self.peek_byte()? {
            let after_e = matches!(word.last(), Some(b'e' | b'E'));
            match byte {
                b'0'..=b'9' => digits = true,
                b'+' | b'-' if word.is_empty() || after_e => {}
                b'.' if real && !point && !exponent => point = true,
                b'e' | b'E' if real && digits && !exponent => exponent = true,
                _ => break,
            }
            if word.len() == LONGEST_NUMBER {
                return Err(self.error(format!("expected {what}, found '{}'", excerpt(&word))));
            }
            word.push(byte);
            self.next_byte()?;
        }
        if !digits {
            return Err(if word.is_empty() {
                self.error_expected(what)
            } else {
                self.error(format!("expected {what}, found '{}'", excerpt(&word)))
            });
        }
        self.to_utf8(word, "number")
    }
}
