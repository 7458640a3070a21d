//! Types of numbers in matrices and vectors, and their binary form.

use byteorder::{ByteOrder, LittleEndian, ReadBytesExt};

use crate::error::Result;
use crate::reader::KaldiReader;
use crate::writer::KaldiWriter;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A type of matrix elements: `f32` or `f64`, Kaldi's `float` and `double`.
pub trait Real:
    sealed::Sealed + Copy + Default + PartialEq + PartialOrd + std::fmt::Debug + Send + Sync + 'static
{
    /// First letter of the tokens of matrices, vectors and packed matrices of this type.
    const LETTER: char;
    /// First letter of the other type's tokens.
    const OTHER_LETTER: char;
    fn to_f64(self) -> f64;
    fn from_f64(value: f64) -> Self;
    /// A number as a text matrix holds it; infinite when out of range.
    fn parse(word: &str) -> Option<Self>;
    /// Reads raw little-endian values.
    fn read_raw(r: &mut KaldiReader, out: &mut [Self]) -> Result<()>;
    /// Writes raw little-endian values.
    fn write_raw(w: &mut KaldiWriter, values: &[Self]) -> Result<()>;
}

macro_rules! real {
    ($type:ty, $letter:literal, $other:literal, $read:ident, $write:ident) => {
        impl Real for $type {
            const LETTER: char = $letter;
            const OTHER_LETTER: char = $other;
            fn to_f64(self) -> f64 {
                self.into()
            }
            fn from_f64(value: f64) -> Self {
                value as $type
            }
            fn parse(word: &str) -> Option<Self> {
                word.parse().ok()
            }
            fn read_raw(r: &mut KaldiReader, out: &mut [Self]) -> Result<()> {
                r.$read::<LittleEndian>(out).map_err(|e| r.bulk_error(e, size_of_val(out)))
            }
            fn write_raw(w: &mut KaldiWriter, values: &[Self]) -> Result<()> {
                if w.checks(values) {
                    return Ok(());
                }
                w.write_converted(values, LittleEndian::$write)
            }
        }
    };
}
real!(f32, 'F', 'D', read_f32_into, write_f32_into);
real!(f64, 'D', 'F', read_f64_into, write_f64_into);
