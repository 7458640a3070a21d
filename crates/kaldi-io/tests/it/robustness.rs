//! Damaged input of every format: errors or values, but neither panics nor memory that the input does not justify.

use crate::common::{reader, written};
use kaldi_io::holder::*;
use kaldi_io::{
    CompressedMatrix, CompressionMethod, DenseMatrix, KaldiReader, PackedMatrix, SparseMatrix, SparseVector,
};

/// A small generator, so that failures can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// Reads `value`'s bytes with some of them changed, missing or doubled.
fn damage<H: Holder>(value: H::T) {
    let mut random = Random(1);
    for binary in [true, false] {
        let good = written(binary, |w| H::write(w, &value));
        for length in 0..good.len() {
            let _ = H::read(&mut reader(false, &good[..length]));
        }
        for _ in 0..3000 {
            let mut bytes = good.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                match random.below(4) {
                    0 => bytes[at] = random.below(256) as u8,
                    1 => bytes[at] = [0x7f, 0xff, 0x80, b' ', b'\n', b']', b'-', b'9'][random.below(8)],
                    2 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, bytes[at]),
                }
                if bytes.is_empty() {
                    break;
                }
            }
            if let Err(e) = H::read(&mut reader(false, &bytes)) {
                assert!(e.chain().contains("test, "), "an error without a place: {}", e.chain());
            }
        }
    }
}

#[test]
fn damaged_input_of_every_format() {
    let m = DenseMatrix { rows: 9, cols: 2, data: (0..18).map(|i| i as f32 - 4.5).collect() };
    let compress = |method| CompressedMatrix::compress(&m, method).unwrap();
    damage::<MatrixHolder>(m.clone());
    damage::<DoubleMatrixHolder>(m.convert());
    damage::<VectorHolder>(m.data.clone());
    damage::<GeneralMatrixHolder>(compress(CompressionMethod::SpeechFeature).into());
    damage::<GeneralMatrixHolder>(compress(CompressionMethod::TwoByteAuto).into());
    let rows = vec![SparseVector::new(3, vec![(1, 0.5), (2, 0.5)]).unwrap(); 3];
    damage::<GeneralMatrixHolder>(SparseMatrix { rows }.into());
    damage::<ObjectHolder<PackedMatrix<f32>>>(PackedMatrix { dim: 3, data: vec![1.5; 6] });
    damage::<I32Holder>(-17);
    damage::<DoubleHolder>(-17.25e-3);
    damage::<BoolHolder>(true);
    damage::<I32VectorHolder>(vec![3, -4, 5]);
    damage::<I32VectorVectorHolder>(vec![vec![3], vec![], vec![-4, 5]]);
    damage::<I32PairVectorHolder>(vec![(1, 2), (3, 4)]);
    damage::<TokenHolder>("token".to_owned());
    damage::<TokenVectorHolder>(vec!["a".to_owned(), "b".to_owned()]);
    damage::<PosteriorHolder>(vec![vec![(3, 0.5)], vec![], vec![(1, 0.25), (2, 0.75)]]);
}

/// A device may have no end, and no line breaks.
#[test]
fn a_line_without_an_end_is_an_error() {
    let mut r = KaldiReader::from_read("zeros", std::io::repeat(0));
    let error = r.read_line().unwrap_err().chain();
    assert!(error.contains("expected a line of at most 268435456 bytes, found a longer one"), "{error}");
}
