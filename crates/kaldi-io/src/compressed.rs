//! Matrices stored with one or two bytes a number (`matrix/compressed-matrix.{h,cc}`).
//!
//! Three forms share a header of minimum, range, rows and columns. `CM2` and `CM3` scale all numbers alike to 16 or 8
//! bits. `CM` gives each column four 16-bit quantiles, and codes each number in 8 bits between them. The arithmetic
//! follows Kaldi's mix of single and double precision, so that codes and values are the same bits; it is in
//! `compressed/coding.rs`.

mod coding;

use byteorder::{ByteOrder, LittleEndian, ReadBytesExt};

use crate::contents::Contents;
use crate::error::{IoError, Result};
use crate::matrix::DenseMatrix;
use crate::object::KaldiObject;
use crate::reader::KaldiReader;
use crate::writer::KaldiWriter;
use coding::{Quantiles, Scale};

/// Compression methods. The numbers are the values of `--compression-method`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CompressionMethod {
    /// Stands for `SpeechFeature` if there are more than 8 rows, else for `TwoByteAuto`.
    #[default]
    Automatic = 1,
    /// One byte a number, with quantiles of each column.
    SpeechFeature = 2,
    /// Two bytes a number over the matrix's own range.
    TwoByteAuto = 3,
    /// Two bytes a number, for integers −32768 … 32767.
    TwoByteSignedInteger = 4,
    /// One byte a number over the matrix's own range.
    OneByteAuto = 5,
    /// One byte a number, for integers 0 … 255.
    OneByteUnsignedInteger = 6,
    /// One byte a number, for 0 … 1.
    OneByteZeroOne = 7,
}

impl TryFrom<i32> for CompressionMethod {
    type Error = IoError;

    fn try_from(number: i32) -> Result<Self> {
        use CompressionMethod::*;
        Ok(match number {
            1 => Automatic,
            2 => SpeechFeature,
            3 => TwoByteAuto,
            4 => TwoByteSignedInteger,
            5 => OneByteAuto,
            6 => OneByteUnsignedInteger,
            7 => OneByteZeroOne,
            _ => return Err(IoError::Value(format!("compression method {number} is not one of 1 to 7"))),
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Codes {
    /// Column after column, with quantiles for each: `CM`.
    Columns { quantiles: Vec<Quantiles>, codes: Vec<u8> },
    /// Row after row: `CM2`.
    TwoByte(Vec<u16>),
    /// Row after row: `CM3`.
    OneByte(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct CompressedMatrix {
    scale: Scale,
    rows: usize,
    cols: usize,
    codes: Codes,
}

impl Default for CompressedMatrix {
    fn default() -> Self {
        let codes = Codes::Columns { quantiles: Vec::new(), codes: Vec::new() };
        CompressedMatrix { scale: Scale::default(), rows: 0, cols: 0, codes }
    }
}

impl CompressedMatrix {
    /// Compresses; infinite or NaN values are an error.
    pub fn compress(m: &DenseMatrix<f32>, method: CompressionMethod) -> Result<Self> {
        use CompressionMethod::*;
        if m.data.is_empty() {
            return Ok(Self::default());
        }
        let method = match method {
            Automatic if m.rows > 8 => SpeechFeature,
            Automatic => TwoByteAuto,
            other => other,
        };
        let scale = match method {
            TwoByteSignedInteger => Scale { min: -32768.0, range: 65535.0 },
            OneByteUnsignedInteger => Scale { min: 0.0, range: 255.0 },
            OneByteZeroOne => Scale { min: 0.0, range: 1.0 },
            _ => Scale::of(&m.data)?,
        };
        let codes = match method {
            Automatic | SpeechFeature => {
                let (quantiles, codes) = coding::encode_columns(scale, m);
                Codes::Columns { quantiles, codes }
            }
            TwoByteAuto | TwoByteSignedInteger => {
                Codes::TwoByte(m.data.iter().map(|&v| scale.code16(v)).collect())
            }
            _ => Codes::OneByte(m.data.iter().map(|&v| scale.code8(v)).collect()),
        };
        Ok(CompressedMatrix { scale, rows: m.rows, cols: m.cols, codes })
    }

    pub fn to_dense(&self) -> DenseMatrix<f32> {
        let mut dense = DenseMatrix::new(self.rows, self.cols);
        self.decode(&mut dense.data);
        dense
    }

    /// Writes the values, row after row, to `out`. Its length is the number of elements.
    pub(crate) fn decode(&self, out: &mut [f32]) {
        match &self.codes {
            Codes::Columns { quantiles, codes } => {
                coding::decode_columns(self.scale, self.rows, quantiles, codes, out)
            }
            Codes::TwoByte(codes) => self.scale.decode16(codes, out),
            Codes::OneByte(codes) => self.scale.decode8(codes, out),
        }
    }

    /// True if all decoded numbers are finite.
    pub(crate) fn has_finite_scale(&self) -> bool {
        self.scale.min.is_finite() && self.scale.range.is_finite()
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Multiplies all values; the codes stay.
    pub fn scale(&mut self, alpha: f32) {
        self.scale.min *= alpha;
        self.scale.range *= alpha;
    }

    /// `n` rows from row `first` on; rows before the first or after the last repeat those. Codes are copied, except
    /// that fewer than 8 rows of the form with quantiles are encoded again with two bytes a number.
    pub fn sub_rows(&self, first: i64, n: usize) -> Result<Self> {
        if n == 0 || (self.rows == 0 && self.cols == 0) {
            return if n == 0 {
                Ok(Self::default())
            } else {
                Err(IoError::Value("the matrix has no rows".into()))
            };
        }
        let source = |row: usize| first.saturating_add(row as i64).clamp(0, self.rows as i64 - 1) as usize;
        let (start, last) = (source(0), source(n - 1));
        let inside = last - start == n - 1;
        let codes = match &self.codes {
            whole if (start, last) == (0, self.rows - 1) && inside => whole.clone(),
            Codes::Columns { quantiles, codes } => {
                let mut out = Vec::with_capacity(n * self.cols);
                for column in codes.chunks_exact(self.rows) {
                    match inside {
                        true => out.extend_from_slice(&column[start..=last]),
                        false => out.extend((0..n).map(|row| column[source(row)])),
                    }
                }
                Codes::Columns { quantiles: quantiles.clone(), codes: out }
            }
            Codes::TwoByte(codes) => Codes::TwoByte(copy_rows(codes, self.cols, (0..n).map(source))),
            Codes::OneByte(codes) => Codes::OneByte(copy_rows(codes, self.cols, (0..n).map(source))),
        };
        let part = CompressedMatrix { scale: self.scale, rows: n, cols: self.cols, codes };
        if n < 8 && matches!(part.codes, Codes::Columns { .. }) {
            return Self::compress(&part.to_dense(), CompressionMethod::TwoByteAuto);
        }
        Ok(part)
    }

    /// Reads a compressed matrix; a full matrix, or text, is compressed with the automatic method.
    pub fn read(r: &mut KaldiReader) -> Result<Self> {
        if !r.binary() || r.peek_byte()? != Some(b'C') {
            let m = DenseMatrix::read(r)?;
            return Self::compress(&m, CompressionMethod::Automatic).map_err(|e| r.error(e.to_string()));
        }
        let token = r.read_token()?;
        if !matches!(token.as_str(), "CM" | "CM2" | "CM3") {
            return Err(r.error(format!("expected token 'CM', 'CM2' or 'CM3', found '{token}'")));
        }
        let mut header = [0; 16];
        r.read_exact(&mut header)?;
        let scale =
            Scale { min: LittleEndian::read_f32(&header), range: LittleEndian::read_f32(&header[4..]) };
        let rows = r.check_count(LittleEndian::read_i32(&header[8..]), "rows")?;
        let cols = r.check_count(LittleEndian::read_i32(&header[12..]), "columns")?;
        if rows == 0 || cols == 0 {
            return Ok(Self::default());
        }
        let count = rows.checked_mul(cols).ok_or_else(|| r.error(format!("{rows}×{cols} is too large")))?;
        let codes = match token.as_str() {
            "CM" => {
                let quantiles = r.read_growing(cols, read_quantiles)?;
                Codes::Columns { quantiles, codes: r.read_growing(count, KaldiReader::read_exact)? }
            }
            "CM2" => Codes::TwoByte(r.read_growing(count, read_raw_u16)?),
            _ => Codes::OneByte(r.read_growing(count, KaldiReader::read_exact)?),
        };
        Ok(CompressedMatrix { scale, rows, cols, codes })
    }

    /// Writes the compressed form; in text mode the numbers themselves.
    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        if !w.binary() {
            return self.to_dense().write(w);
        }
        let token = match &self.codes {
            Codes::Columns { .. } => "CM",
            Codes::TwoByte(_) => "CM2",
            Codes::OneByte(_) => "CM3",
        };
        w.write_token(token)?;
        if self.rows == 0 || self.cols == 0 {
            // Kaldi's own reader leaves 4 of these bytes unread; `GeneralMatrix` therefore never writes this.
            return w.write_bytes(&[0; 20]);
        }
        let mut header = [0; 16];
        LittleEndian::write_f32(&mut header, self.scale.min);
        LittleEndian::write_f32(&mut header[4..], self.scale.range);
        LittleEndian::write_i32(&mut header[8..], w.count(self.rows)?);
        LittleEndian::write_i32(&mut header[12..], w.count(self.cols)?);
        w.write_bytes(&header)?;
        match &self.codes {
            Codes::Columns { quantiles, codes } => {
                w.write_converted(quantiles, |quantiles, bytes| {
                    let columns = quantiles.iter().zip(bytes.chunks_exact_mut(size_of::<Quantiles>()));
                    columns.for_each(|(quantiles, bytes)| LittleEndian::write_u16_into(&quantiles.0, bytes));
                })?;
                w.write_bytes(codes)
            }
            Codes::TwoByte(codes) => w.write_converted(codes, LittleEndian::write_u16_into),
            Codes::OneByte(codes) => w.write_bytes(codes),
        }
    }
}

fn copy_rows<T: Copy>(data: &[T], cols: usize, rows: impl Iterator<Item = usize>) -> Vec<T> {
    rows.flat_map(|row| data[row * cols..(row + 1) * cols].iter().copied()).collect()
}

fn read_quantiles(r: &mut KaldiReader, out: &mut [Quantiles]) -> Result<()> {
    let mut bytes = [0; size_of::<Quantiles>()];
    out.iter_mut().try_for_each(|quantiles| {
        r.read_exact(&mut bytes)?;
        LittleEndian::read_u16_into(&bytes, &mut quantiles.0);
        Ok(())
    })
}

fn read_raw_u16(r: &mut KaldiReader, out: &mut [u16]) -> Result<()> {
    r.read_u16_into::<LittleEndian>(out).map_err(|e| r.bulk_error(e, size_of_val(out)))
}

impl KaldiObject for CompressedMatrix {
    fn reads(contents: &Contents) -> bool {
        contents.is_matrix()
    }
    fn read(r: &mut KaldiReader) -> Result<Self> {
        CompressedMatrix::read(r)
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        CompressedMatrix::write(self, w)
    }
}
