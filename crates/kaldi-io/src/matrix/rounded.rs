//! Matrices in 8 bits: each row is a scale times integers from -127 to 127, one byte an element. Kaldi does not know
//! this form.
//!
//! `BM ` I32(rows) I32(cols), the scales of the rows as raw floats, and the numbers, row after row, as signed bytes.

use super::{DenseMatrix, Real, size};
use crate::error::Result;
use crate::reader::KaldiReader;
use crate::writer::KaldiWriter;

pub(super) const TOKEN: &str = "BM";

/// The scale of a row and its whole numbers, if it is such a row, bit by bit.
fn whole_numbers<T: Real>(row: &[T], numbers: &mut Vec<u8>) -> Option<f32> {
    let most = row.iter().fold(0.0, |most: f64, x| most.max(x.to_f64().abs())) as f32;
    let scale = most / 127.0;
    for x in row {
        let x = x.to_f64() as f32;
        let number = if scale == 0.0 { 0 } else { (x / scale).round() as i8 };
        if f32::from(number) * scale != x {
            return None;
        }
        numbers.push(number as u8);
    }
    Some(scale)
}

/// Writes a matrix in this form if its values allow that. Returns true if it has been written.
pub(super) fn write<T: Real>(w: &mut KaldiWriter, rows: usize, cols: usize, values: &[T]) -> Result<bool> {
    let mut numbers = Vec::with_capacity(values.len());
    let scales = values.chunks_exact(cols.max(1)).map(|row| whole_numbers(row, &mut numbers));
    let Some(scales) = scales.collect::<Option<Vec<f32>>>() else { return Ok(false) };
    if T::LETTER != 'F' || rows < 2 || cols == 0 || scales.iter().all(|&scale| scale == 0.0) {
        return Ok(false);
    }
    w.write_token(TOKEN)?;
    w.write_i32(w.count(rows)?)?;
    w.write_i32(w.count(cols)?)?;
    f32::write_raw(w, &scales)?;
    w.write_bytes(&numbers)?;
    Ok(true)
}

pub(super) fn read<T: Real>(r: &mut KaldiReader) -> Result<DenseMatrix<T>> {
    r.expect_token(TOKEN)?;
    let (rows, cols, count) = size(r)?;
    let scales = r.read_growing(rows, f32::read_raw)?;
    let numbers = r.read_growing(count, |r, bytes: &mut [u8]| r.read_exact(bytes))?;
    let value = |(&number, scale): (&u8, f32)| T::from_f64(f64::from(f32::from(number as i8) * scale));
    let rows_of = numbers.chunks_exact(cols.max(1)).zip(&scales);
    let data =
        rows_of.flat_map(|(row, &scale)| row.iter().map(move |number| value((number, scale)))).collect();
    Ok(DenseMatrix { rows, cols, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(matrix: &DenseMatrix<f32>, compact: bool) -> Vec<u8> {
        let mut w = KaldiWriter::in_memory(true);
        w.write_whole_numbers_as_bytes(compact);
        matrix.write(&mut w).unwrap();
        w.into_bytes()
    }

    fn read_back(bytes: &[u8]) -> Result<DenseMatrix<f32>> {
        let mut r = KaldiReader::from_bytes("memory", bytes.to_vec());
        r.set_binary(true);
        DenseMatrix::read(&mut r)
    }

    #[test]
    fn whole_numbers_times_scales_come_back_bit_by_bit() {
        let scales = [0.0117, 3.5e-5, 0.0].map(|scale: f32| f32::from_bits((scale.to_bits() + 0xff) & !0xff));
        let rows = [[127, -3, 0, 5], [1, -127, 64, -64], [0; 4]];
        let row = |(numbers, scale): ([i8; 4], f32)| numbers.map(|n| f32::from(n) * scale);
        let matrix = DenseMatrix::from_rows(&rows.into_iter().zip(scales).map(row).collect::<Vec<_>>());
        let bytes = written(&matrix, true);
        assert_eq!(bytes.len(), 3 + 5 + 5 + 4 * 3 + 12);
        assert_eq!(read_back(&bytes).unwrap(), matrix);
        assert!(written(&matrix, false).starts_with(b"FM "));
        for length in 0..bytes.len() {
            assert!(read_back(&bytes[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn others_are_written_as_they_are() {
        for rows in
            [vec![[1.0, 0.3], [2.0, 5.0]], vec![[f32::NAN, 1.0]; 2], vec![[0.0, 0.0]; 2], vec![[1.0, 1.0]]]
        {
            assert!(written(&DenseMatrix::from_rows(&rows), true).starts_with(b"FM "), "{rows:?}");
        }
    }
}
