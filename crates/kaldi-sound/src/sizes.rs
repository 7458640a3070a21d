//! Files that are kept, but for MP4: where one ends and the next one begins, by the sizes in their headers.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::input::LOOKED_AT;
use crate::mp4::Part;
use crate::scan::{self, Finding};

/// The first bytes of CAF.
const CAF: &[u8] = b"caff\0\x01";
/// Bytes that tell a kind of file.
const MARK: usize = 4;

/// The files in a file of `length` bytes.
pub(crate) fn parts(file: &mut (impl Read + Seek), length: u64) -> io::Result<Vec<Part>> {
    let (mut parts, mut start) = (Vec::new(), 0);
    loop {
        let begin = bytes(file, start, length)?;
        let size = match begin.starts_with(CAF) {
            true => caf(file, start, length)?,
            false => scan::promised(&begin),
        };
        let mut end = length;
        if let Some(next) = size.and_then(|size| start.checked_add(size)).filter(|&next| next < length) {
            // (A byte of padding may be left out.)
            for at in [next, next - 1] {
                if at > start && is_like(&begin, &bytes(file, at, length)?) {
                    end = at;
                    break;
                }
            }
        }
        parts.push(Part { start, end, missing: 0, behind: 0, index: None });
        if end == length {
            return Ok(parts);
        }
        start = end;
    }
}

/// The fault of the file from `start` to `end`.
pub(crate) fn fault(mut file: File, start: u64, end: u64) -> io::Result<Option<Finding>> {
    let begin = bytes(&mut file, start, end)?;
    if !begin.starts_with(CAF) {
        return Ok(scan::of_size(&begin, end - start));
    }
    let (length, Some(size)) = (end - start, caf(&mut file, start, end)?) else { return Ok(None) };
    let reason = format!("its chunks have {size} bytes, and there are {length}");
    Ok(match size {
        size if size > length => Some(Finding::Cut { bytes: Some(size - length), reason }),
        size if size < length => Some(Finding::Surplus { bytes: length - size }),
        _ => None,
    })
}

/// The first bytes of the file at `start`.
fn bytes(file: &mut (impl Read + Seek), start: u64, end: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut begin = Vec::new();
    file.take((end - start).min(LOOKED_AT as u64)).read_to_end(&mut begin)?;
    Ok(begin)
}

/// True if both are beginnings of the same kind of file.
fn is_like(one: &[u8], other: &[u8]) -> bool {
    // The type behind the size of RIFF.
    let kind = |bytes: &[u8]| bytes.starts_with(b"RIFF").then(|| bytes.get(8..12).map(<[u8]>::to_vec));
    one.len() >= MARK && other.starts_with(&one[..MARK]) && kind(one) == kind(other)
}

/// The bytes of the chunks of a CAF file. `None` if the last one reaches to the end, whatever its size.
fn caf(file: &mut (impl Read + Seek), start: u64, end: u64) -> io::Result<Option<u64>> {
    let mut at = start + 8;
    while at + 12 <= end {
        file.seek(SeekFrom::Start(at))?;
        let mut header = [0; 12];
        file.read_exact(&mut header)?;
        if header.starts_with(CAF) {
            break;
        }
        let [.., a, b, c, d, e, f, g, h] = header;
        let size = i64::from_be_bytes([a, b, c, d, e, f, g, h]);
        let Ok(size) = u64::try_from(size) else { return Ok(None) };
        at = at.saturating_add(12).saturating_add(size);
    }
    Ok(Some(at - start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_of(bytes: &[u8]) -> Vec<(u64, u64)> {
        let all = parts(&mut io::Cursor::new(bytes), bytes.len() as u64).unwrap();
        all.iter().map(|part| (part.start, part.end)).collect()
    }

    #[test]
    fn joined_files() {
        let caf = |size: u8| {
            let header = [CAF, b"\0\0", b"data", &[0, 0, 0, 0, 0, 0, 0, size]].concat();
            [&header[..], &vec![7; size.into()]].concat()
        };
        assert_eq!(parts_of(&caf(30)), [(0, 50)]);
        assert_eq!(parts_of(&[caf(30), caf(10), caf(0)].concat()), [(0, 50), (50, 80), (80, 100)]);
        let avi = |kind: &[u8; 4]| [&b"RIFF"[..], &20u32.to_le_bytes(), kind, &[1; 16]].concat();
        assert_eq!(parts_of(&[avi(b"AVI "), avi(b"AVI ")].concat()), [(0, 28), (28, 56)]);
        // The rest of a large AVI file.
        assert_eq!(parts_of(&[avi(b"AVI "), avi(b"AVIX")].concat()), [(0, 56)]);
        assert_eq!(parts_of(b"some other file"), [(0, 15)]);
    }

    #[test]
    fn cut_and_padded_files() {
        let whole = [CAF, b"\0\0", b"data", &[0, 0, 0, 0, 0, 0, 0, 10], &[7; 10]].concat();
        let fault = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            io::Write::write_all(&mut file, bytes).unwrap();
            super::fault(file, 0, bytes.len() as u64).unwrap()
        };
        assert_eq!(fault(&whole), None);
        assert!(matches!(fault(&whole[..25]), Some(Finding::Cut { bytes: Some(5), .. })));
        assert_eq!(fault(&[&whole[..], &[0; 5]].concat()), Some(Finding::Surplus { bytes: 5 }));
    }
}
