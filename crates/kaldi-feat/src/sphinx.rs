//! Features in CMU Sphinx's format: a count of numbers, then 32-bit floats, 13 a frame. Both are big-endian or both
//! little-endian. The order is that in which the count fits the size of the file; of a pipe, that of the smaller count.

use byteorder::{BigEndian, ByteOrder, LittleEndian};
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
        let counts = [BigEndian::read_i32(&header), LittleEndian::read_i32(&header)];
        let is_little = is_little_endian(counts, r.bytes_left().filter(|_| r.is_whole()));
        let count = r.check_count(counts[usize::from(is_little)], "numbers")?;
        if count % DIM != 0 {
            return Err(r.error(format!("{count} numbers do not make frames of dimension {DIM}")));
        }
        let mut data = read_floats(r, count / DIM, DIM)?;
        if is_little {
            data.iter_mut().for_each(|x| *x = f32::from_bits(x.to_bits().swap_bytes()));
        }
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

/// True if the count is little-endian: `counts` are the big-endian and the little-endian one, `bytes` those behind it, if
/// the input is a file with these features alone.
fn is_little_endian([big, little]: [i32; 2], bytes: Option<u64>) -> bool {
    let fits = |count: i32| u64::try_from(count).is_ok_and(|count| bytes == Some(4 * count));
    let size = |count: i32| u32::try_from(count).unwrap_or(u32::MAX);
    !fits(big) && (fits(little) || size(little) < size(big))
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
        // What this crate writes, and an order that only the size of the file tells: 13 · 2¹⁶ numbers or 0x0d00.
        let small = DenseMatrix::from_rows(&[[1.5f32; 13], [-2.0; 13]]);
        let large = DenseMatrix::<f32> { rows: 1 << 16, cols: DIM, data: vec![0.25; DIM << 16] };
        let path = std::env::temp_dir().join(format!("sphinx-{}.mfc", std::process::id()));
        for features in [&small, &large] {
            let mut w = KaldiWriter::in_memory(true);
            write(&mut w, features).unwrap();
            let bytes = w.into_bytes();
            std::fs::write(&path, &bytes).unwrap();
            let read = SphinxHolder::read(&mut KaldiReader::open_raw(path.to_str().unwrap()).unwrap());
            assert_eq!(&read.unwrap(), features);
            let reversed: Vec<u8> = bytes.chunks(4).flat_map(|b| [b[3], b[2], b[1], b[0]]).collect();
            std::fs::write(&path, reversed).unwrap();
            let read = SphinxHolder::read(&mut KaldiReader::open_raw(path.to_str().unwrap()).unwrap());
            assert_eq!(&read.unwrap(), features, "big-endian");
        }
        std::fs::remove_file(path).unwrap();
        bytes[3] = 25;
        let error = SphinxHolder::read(&mut KaldiReader::from_bytes("f", bytes)).unwrap_err().to_string();
        assert!(error.contains("25 numbers"), "{error}");
        let mut w = KaldiWriter::in_memory(true);
        write(&mut w, &DenseMatrix::from_rows(&[[1.5, -2.0]])).unwrap();
        assert_eq!(w.into_bytes(), b"\x02\0\0\0\0\0\xc0\x3f\0\0\0\xc0");
    }
}
