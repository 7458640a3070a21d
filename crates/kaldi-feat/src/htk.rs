//! Features in HTK's format: a header of 12 bytes, then 32-bit floats, all big-endian.

use byteorder::{BigEndian, ByteOrder};
use kaldi_io::holder::Holder;
use kaldi_io::{DenseMatrix, IoError, KaldiReader, KaldiWriter};

type Result<T> = std::result::Result<T, IoError>;

/// Bytes of a header.
const HEADER: usize = 12;
/// Bits of the sample kind.
const BASE_KIND: u16 = 0o77;
const COMPRESSED: u16 = 0o2000;
const CHECKSUM: u16 = 0o10000;
const VECTOR_QUANTISED: u16 = 0o40000;
/// Base kinds without feature vectors: waveforms, integer reflection coefficients, discrete symbols.
const NO_FEATURES: [u16; 3] = [0, 5, 10];

/// Tables of HTK features, for reading.
pub struct HtkHolder;

impl Holder for HtkHolder {
    type T = DenseMatrix<f32>;

    fn read(r: &mut KaldiReader) -> Result<Self::T> {
        read(r)
    }

    fn write(_: &mut KaldiWriter, _: &Self::T) -> Result<()> {
        Err(IoError::Value("HTK features are only read".to_owned()))
    }
}

/// Features with the rest of a header.
#[derive(Debug, Clone, PartialEq)]
pub struct HtkFeatures {
    pub features: DenseMatrix<f32>,
    /// The time from one frame to the next, in units of 100 ns.
    pub period: i32,
    /// A base kind and its bits.
    pub kind: u16,
}

/// Tables of HTK features with their headers.
pub struct HtkFeaturesHolder;

impl Holder for HtkFeaturesHolder {
    type T = HtkFeatures;

    fn read(r: &mut KaldiReader) -> Result<HtkFeatures> {
        let mut header = [0; HEADER];
        let features = read_with(r, &mut header)?;
        let (period, kind) = (BigEndian::read_i32(&header[4..]), BigEndian::read_u16(&header[10..]));
        Ok(HtkFeatures { features, period, kind })
    }

    fn write(w: &mut KaldiWriter, value: &HtkFeatures) -> Result<()> {
        let features = &value.features;
        let too_large = |what| IoError::Value(format!("an HTK file cannot have so many {what}"));
        let rows = i32::try_from(features.rows).map_err(|_| too_large("frames"))?;
        let bytes = i16::try_from(4 * features.cols).map_err(|_| too_large("dimensions"))?;
        let mut out = [&rows.to_be_bytes()[..], &value.period.to_be_bytes()].concat();
        out.extend(bytes.to_be_bytes());
        out.extend(value.kind.to_be_bytes());
        out.extend(features.data.iter().flat_map(|x| x.to_be_bytes()));
        w.write_bytes(&out)
    }
}

/// Reads features; neither compressed nor vector-quantised ones.
pub fn read(r: &mut KaldiReader) -> Result<DenseMatrix<f32>> {
    read_with(r, &mut [0; HEADER])
}

fn read_with(r: &mut KaldiReader, header: &mut [u8; HEADER]) -> Result<DenseMatrix<f32>> {
    r.set_binary(true);
    r.read_exact(header)?;
    let rows = r.check_count(BigEndian::read_i32(header), "frames")?;
    let sample_size = r.check_count(BigEndian::read_i16(&header[8..]).into(), "bytes of a frame")?;
    let kind = BigEndian::read_u16(&header[10..]);
    if kind & (COMPRESSED | VECTOR_QUANTISED) != 0 {
        return Err(r.error("HTK features are compressed or vector-quantised, which is not supported"));
    }
    if NO_FEATURES.contains(&(kind & BASE_KIND)) {
        return Err(r.error(format!("HTK data of kind {} are not features", kind & BASE_KIND)));
    }
    let cols = sample_size / size_of::<f32>();
    let data = read_floats(r, rows, cols)?;
    if kind & CHECKSUM != 0 {
        r.read_exact(&mut [0; 2])?;
    }
    Ok(if data.is_empty() { DenseMatrix::default() } else { DenseMatrix { rows, cols, data } })
}

pub(crate) fn read_floats(r: &mut KaldiReader, rows: usize, cols: usize) -> Result<Vec<f32>> {
    let bytes = rows
        .checked_mul(cols)
        .and_then(|count| count.checked_mul(size_of::<f32>()))
        .ok_or_else(|| r.error(format!("{rows}×{cols} is too large")))?;
    let bytes: Vec<u8> = r.read_growing(bytes, KaldiReader::read_exact)?;
    Ok(bytes.chunks_exact(size_of::<f32>()).map(BigEndian::read_f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(kind: u16, values: &[f32], extra: &[u8]) -> Vec<u8> {
        let mut bytes = (values.len() as i32 / 2).to_be_bytes().to_vec();
        bytes.extend(100_000i32.to_be_bytes());
        bytes.extend(8i16.to_be_bytes());
        bytes.extend(kind.to_be_bytes());
        values.iter().for_each(|x| bytes.extend(x.to_be_bytes()));
        bytes.extend(extra);
        bytes
    }

    #[test]
    fn features_and_checksums() {
        for (kind, extra) in [(6, &b""[..]), (6 | CHECKSUM, b"xy")] {
            let bytes = file(kind, &[1.0, -2.0, 3.5, 4.0], &[extra, b"!"].concat());
            let whole = HtkFeaturesHolder::read(&mut KaldiReader::from_bytes("f", bytes.clone())).unwrap();
            assert_eq!((whole.period, whole.kind), (100_000, kind));
            let mut r = KaldiReader::from_bytes("f", bytes);
            let m = HtkHolder::read(&mut r).unwrap();
            assert_eq!(m, DenseMatrix::from_rows(&[[1.0, -2.0], [3.5, 4.0]]));
            let mut rest = [0];
            r.read_exact(&mut rest).unwrap();
            assert_eq!(rest, *b"!");
        }
    }

    #[test]
    fn what_is_refused() {
        let error = |bytes| read(&mut KaldiReader::from_bytes("f", bytes)).unwrap_err().to_string();
        assert!(error(file(6 | COMPRESSED, &[], b"")).contains("compressed"));
        assert!(error(file(0, &[], b"")).contains("kind 0"));
        assert!(error(file(6, &[1.0; 4], b"")[..25].to_vec()).contains("f, byte"));
        let mut negative = file(6, &[], b"");
        negative[0] = 0xff;
        assert!(error(negative).contains("number of frames"));
    }
}
