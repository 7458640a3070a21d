//! Files that are kept, but for MP4: where one ends and the next one begins, by the sizes in their headers.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use kaldi_feat::wave::{self, Found};

use crate::input::LOOKED_AT;
use crate::mp4::Part;
use crate::scan::{self, Finding};

/// The first bytes of CAF.
const CAF: &[u8] = b"caff\0\x01";
/// Bytes that are searched at once.
const SEARCHED: u64 = 1 << 20;
/// Bytes that tell a kind of file.
const MARK: usize = 4;

/// The files in a file of `length` bytes.
pub(crate) fn parts(file: &mut (impl Read + Seek), length: u64) -> io::Result<Vec<Part>> {
    let (mut parts, mut start) = (Vec::new(), 0);
    loop {
        let begin = bytes(file, start, length)?;
        let size = size(file, &begin, start, length)?;
        let mut end = length;
        if let Some(next) = size.and_then(|size| start.checked_add(size)).filter(|&next| next < length) {
            // (A byte of padding may be left out.)
            for at in [next, next - 1] {
                let there = bytes(file, at, length)?;
                if at > start && (is_like(&begin, &there) || wave::is_sound(&there)) {
                    end = at;
                    break;
                }
            }
        }
        parts.push(Part {
            start,
            end,
            missing: 0,
            behind: 0,
            index: None,
            before: None,
            patches: Vec::new(),
        });
        if end == length {
            return Ok(parts);
        }
        start = end;
    }
}

/// The fault of the file from `start` to `end`.
pub(crate) fn fault(mut file: File, start: u64, end: u64) -> io::Result<Option<Finding>> {
    let begin = bytes(&mut file, start, end)?;
    if scan::promised(&begin).is_some() {
        return Ok(scan::of_size(&begin, end - start));
    }
    let (length, Some(size)) = (end - start, size(&mut file, &begin, start, end)?) else { return Ok(None) };
    let reason = format!("its parts have {size} bytes, and there are {length}");
    Ok(match size {
        size if size > length => Some(Finding::Cut { bytes: Some(size - length), reason }),
        size if size < length => Some(Finding::Surplus { bytes: length - size }),
        _ => None,
    })
}

/// The size in bytes that the parts of the file from `start` on give, if they do.
fn size(file: &mut (impl Read + Seek), begin: &[u8], start: u64, end: u64) -> io::Result<Option<u64>> {
    match begin {
        _ if begin.starts_with(CAF) => caf(file, start, end),
        [b'w', b'v', b'p', b'k', ..] => wavpack(file, start, end),
        [b'T', b'T', b'A', b'1', ..] => true_audio(file, begin, start, end),
        _ => Ok(scan::promised(begin)),
    }
}

/// True if the file from `start` to `end` is a CAF file.
pub(crate) fn is_caf(file: &mut File, start: u64, end: u64) -> io::Result<bool> {
    Ok(bytes(file, start, end)?.starts_with(CAF))
}

/// The first bytes of the file at `start`.
fn bytes(file: &mut (impl Read + Seek), start: u64, end: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut begin = Vec::new();
    file.take((end - start).min(LOOKED_AT as u64)).read_to_end(&mut begin)?;
    Ok(begin)
}

/// The end of the notes that stand at `at`, if there are some (APEv2, ID3v1).
fn behind_tags(file: &mut (impl Read + Seek), mut at: u64, end: u64) -> io::Result<u64> {
    /// The flag of a header of notes, in the last byte of the flags.
    const HEADER: u8 = 0x20;
    while at < end {
        let begin = bytes(file, at, end)?;
        at += match (begin.get(12..16), begin.get(23)) {
            (Some(&[a, b, c, d]), Some(flags)) if begin.starts_with(b"APETAGEX") && flags & HEADER != 0 => {
                32 + u64::from(u32::from_le_bytes([a, b, c, d]))
            }
            _ if begin.starts_with(b"TAG") => 128,
            _ => break,
        };
    }
    Ok(at)
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
        let is_name = header[..4].iter().all(|byte| (b' '..=b'~').contains(byte));
        if !is_name || wave::is_sound(&bytes(file, at, end)?) {
            break;
        }
        let [.., a, b, c, d, e, f, g, h] = header;
        let size = i64::from_be_bytes([a, b, c, d, e, f, g, h]);
        let Ok(size) = u64::try_from(size) else {
            return Ok(next_file(file, at + 12, end)?.map(|next| next - start));
        };
        at = at.saturating_add(12).saturating_add(size);
    }
    Ok(Some(at - start))
}

/// The place of the next file behind samples without a length.
fn next_file(file: &mut (impl Read + Seek), start: u64, end: u64) -> io::Result<Option<u64>> {
    let (mut at, mut window) = (start, Vec::new());
    file.seek(SeekFrom::Start(start))?;
    while file.take(end.saturating_sub(at + window.len() as u64).min(SEARCHED)).read_to_end(&mut window)? > 0
    {
        let passed = match wave::find(&window) {
            Found::At(found) => return Ok(Some(at + found as u64)),
            Found::PerhapsAt(perhaps) => perhaps,
            Found::Nowhere => window.len(),
        };
        window.drain(..passed);
        at += passed as u64;
    }
    Ok(None)
}

/// The bytes of the blocks of a WavPack file, up to the first block of another file, or tags.
fn wavpack(file: &mut (impl Read + Seek), start: u64, end: u64) -> io::Result<Option<u64>> {
    /// The flag of the first block of several for the channels of the same time.
    const INITIAL: u8 = 0x08;
    let mut at = start;
    while at + 32 <= end {
        file.seek(SeekFrom::Start(at))?;
        let mut header = [0; 32];
        file.read_exact(&mut header)?;
        let number =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        // (Samples before the block, and samples of it: a block of notes has none.)
        let is_first = number(16) == 0 && number(20) > 0 && header[25] & INITIAL != 0;
        if !header.starts_with(b"wvpk") || (is_first && at > start) {
            return Ok(Some(behind_tags(file, at, end)? - start));
        }
        at = at.saturating_add(8).saturating_add(number(4).into());
    }
    Ok(Some(at - start))
}

/// The bytes of a True Audio file: its header, and the sizes of its frames that follow.
fn true_audio(file: &mut (impl Read + Seek), begin: &[u8], start: u64, end: u64) -> io::Result<Option<u64>> {
    const HEADER: u64 = 22;
    let number = |at: usize| {
        let four = begin.get(at..at + 4).and_then(|four| four.try_into().ok());
        u64::from(four.map_or(0, u32::from_le_bytes))
    };
    let (rate, samples) = (number(10), number(14));
    // A frame has 256/245 s.
    let frame = rate * 256 / 245;
    if frame == 0 || samples == 0 {
        return Ok(None);
    }
    let table = samples.div_ceil(frame) * 4;
    if table > end - start {
        return Ok(Some(HEADER + table + 4));
    }
    file.seek(SeekFrom::Start(start + HEADER))?;
    let mut sizes = vec![0; table as usize];
    file.read_exact(&mut sizes)?;
    let frames: u64 = sizes
        .chunks_exact(4)
        .map(|four| u64::from(u32::from_le_bytes([four[0], four[1], four[2], four[3]])))
        .sum();
    Ok(Some(behind_tags(file, start + HEADER + table + 4 + frames, end)? - start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_of(bytes: &[u8]) -> Vec<(u64, u64)> {
        let all = parts(&mut io::Cursor::new(bytes), bytes.len() as u64).unwrap();
        all.iter().map(|part| (part.start, part.end)).collect()
    }

    /// A WavPack file with blocks of 42 bytes and 100 samples.
    fn wavpack_of(blocks: u32) -> Vec<u8> {
        let block = |number: u32| {
            let mut header = [&b"wvpk"[..], &34u32.to_le_bytes(), &[0; 8]].concat();
            header.extend([100 * number, 100, 0x1804, 0].iter().flat_map(|x: &u32| x.to_le_bytes()));
            header.extend([7; 10]);
            header
        };
        (0..blocks).flat_map(block).collect()
    }

    /// A True Audio file with frames of 10 bytes, at 245 Hz.
    fn true_audio_of(frames: u8) -> Vec<u8> {
        let header =
            [&b"TTA1\x01\0\x01\0\x10\0\xf5\0\0\0"[..], &(256 * u32::from(frames)).to_le_bytes(), &[0; 4]];
        let sizes = 10u32.to_le_bytes().repeat(frames.into());
        [&header.concat()[..], &sizes, &[0; 4], &vec![7; 10 * usize::from(frames)]].concat()
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
        let (pack, tta) = (wavpack_of(2), true_audio_of(2));
        assert_eq!(parts_of(&[&pack[..], &pack, &pack].concat()), [(0, 84), (84, 168), (168, 252)]);
        assert_eq!(parts_of(&[&tta[..], &tta].concat()), [(0, 54), (54, 108)]);
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
        for whole in [wavpack_of(3), true_audio_of(3)] {
            assert_eq!(fault(&whole), None);
            assert!(matches!(fault(&whole[..whole.len() - 5]), Some(Finding::Cut { bytes: Some(5), .. })));
            assert!(matches!(fault(&whole[..40]), Some(Finding::Cut { .. })));
            let tag = [
                &b"APETAGEX\xd0\x07\0\0\x28\0\0\0\x01\0\0\0\0\0\0\xa0"[..],
                &[0; 48],
                &b"TAG"[..],
                &[0; 125],
            ]
            .concat();
            assert_eq!(fault(&[&whole[..], &tag].concat()), None);
            let both = [&whole[..], &tag, &whole].concat();
            assert_eq!(parts_of(&both).len(), 2);
            assert_eq!(fault(&[&whole[..], &[0; 40]].concat()), Some(Finding::Surplus { bytes: 40 }));
        }
    }
}
