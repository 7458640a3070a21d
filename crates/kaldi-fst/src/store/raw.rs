//! Numbers and names as OpenFst writes them: little-endian, without size bytes.

use kaldi_io::KaldiReader;

/// The next bytes.
pub(crate) fn read_raw<const N: usize>(r: &mut KaldiReader) -> kaldi_io::Result<[u8; N]> {
    let mut raw = [0; N];
    r.read_exact(&mut raw)?;
    Ok(raw)
}

pub(crate) fn read_i32(r: &mut KaldiReader) -> kaldi_io::Result<i32> {
    read_raw(r).map(i32::from_le_bytes)
}

pub(crate) fn read_i64(r: &mut KaldiReader) -> kaldi_io::Result<i64> {
    read_raw(r).map(i64::from_le_bytes)
}

pub(crate) fn read_string(r: &mut KaldiReader, longest: i32) -> kaldi_io::Result<String> {
    let length = read_i32(r)?;
    if !(0..=longest).contains(&length) {
        return Err(r.error(format!("invalid length of a name: {length}")));
    }
    let bytes = r.read_growing(length as usize, |r, out: &mut [u8]| r.read_exact(out))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
