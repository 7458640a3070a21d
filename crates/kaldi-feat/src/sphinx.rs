//! Features in CMU Sphinx's format: a big-endian count of numbers, then 32-bit floats, 13 a frame.

use byteorder::{BigEndian, ByteOrder};
use kaldi_io::holder::Holder;
use kaldi_io::{DenseMatrix, IoError, KaldiReader, KaldiWriter};

use crate::htk::read_floats;

type Result<T> = std::result::Result<T, IoError>;

/// The dimension of all Sphinx features. The files do not store it.
const DIM: usize = 13;

/// Tables of Sphinx features, for reading.
pub struct SphinxHolder;

impl Holder for SphinxHolder {
    type T = DenseMatrix<f32>;

    fn read(r: &mut KaldiReader) -> Result<Self::T> {
        r.set_binary(true);
        let mut header = [0; 4];
        r.read_exact(&mut header)?;
        let count = r.check_count(BigEndian::read_i32(&header), "numbers")?;
        if count % DIM != 0 {
            return Err(r.error(format!("{count} numbers do not make frames of dimension {DIM}")));
        }
        let data = read_floats(r, count / DIM, DIM)?;
        Ok(if count == 0 {
            DenseMatrix::default()
        } else {
            DenseMatrix { rows: count / DIM, cols: DIM, data }
        })
    }

    fn write(_: &mut KaldiWriter, _: &Self::T) -> Result<()> {
        Err(IoError::Value("Sphinx features are only read".to_owned()))
    }
}

/// Writes features as a separate file, little-endian as in the reference.
pub fn write(w: &mut KaldiWriter, features: &DenseMatrix<f32>) -> Result<()> {
    let count = i32::try_from(features.data.len())
        .map_err(|_| IoError::Value("a Sphinx file cannot have so many numbers".to_owned()))?;
    w.write_bytes(&count.to_le_bytes())?;
    features.data.iter().try_for_each(|x| w.write_bytes(&x.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features() {
        let mut bytes = 26i32.to_be_bytes().to_vec();
        (0..26u8).for_each(|i| bytes.extend(f32::from(i).to_be_bytes()));
        let m = SphinxHolder::read(&mut KaldiReader::from_bytes("f", bytes.clone())).unwrap();
        assert_eq!((m.rows, m.cols, m.row(1)[12]), (2, 13, 25.0));
        bytes[3] = 25;
        let error = SphinxHolder::read(&mut KaldiReader::from_bytes("f", bytes)).unwrap_err().to_string();
        assert!(error.contains("25 numbers"), "{error}");
        let mut w = KaldiWriter::in_memory(true);
        write(&mut w, &DenseMatrix::from_rows(&[[1.5, -2.0]])).unwrap();
        assert_eq!(w.into_bytes(), b"\x02\0\0\0\0\0\xc0\x3f\0\0\0\xc0");
    }
}
