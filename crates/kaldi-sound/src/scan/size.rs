//! Formats with a length in their header: RIFF, AIFF, AU, Wave64, ASF, NIST SPHERE, SoX, ADX, AST, SMAF.

use super::{Finding, Scan};

/// Lengths from here on are those of writers that did not know the length.
const UNKNOWN: u64 = 0x7fff_0000;

/// The bytes that the header promises, and those that came.
pub(super) struct Size {
    promised: u64,
    seen: u64,
    /// True if bytes behind the promised ones are sound of another file, or none that is known.
    only: bool,
}

pub(super) fn be32(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?).into())
}

pub(super) fn le32(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?).into())
}

fn le64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// The size in the file properties of a Windows Media file.
fn asf(begin: &[u8]) -> Option<u64> {
    const PROPERTIES: [u8; 8] = [0xa1, 0xdc, 0xab, 0x8c, 0x47, 0xa9, 0xcf, 0x11];
    let at = begin.windows(8).position(|bytes| bytes == PROPERTIES)?;
    le64(begin, at + 40)
}

/// The size of a NIST SPHERE file without compression: header, samples, their bytes and channels.
fn sphere(begin: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(begin);
    let number = |name: &str| -> Option<u64> {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(2)?.parse().ok()
    };
    if text.lines().any(|line| line.starts_with("sample_coding") && line.contains("shorten")) {
        return None;
    }
    let header: u64 = text.lines().nth(1)?.trim().parse().ok()?;
    let frame = number("sample_n_bytes")?.checked_mul(number("channel_count").unwrap_or(1))?;
    number("sample_count")?.checked_mul(frame)?.checked_add(header)
}

/// The size of a file of SoX: magic and header, samples of 32 bits of all channels together.
fn sox(begin: &[u8], le: bool) -> Option<u64> {
    let number = |at: usize| if le { le32(begin, at) } else { be32(begin, at) };
    let (first, second) = (number(8)?, number(12)?);
    let samples = if le { second << 32 | first } else { first << 32 | second };
    // (0 if the length was not known.)
    Some(samples.checked_mul(4)?.checked_add(number(4)? + 4)?).filter(|_| samples > 0)
}

/// The size of an ADX file up to the mark of its end: header, and blocks of each channel.
fn adx(begin: &[u8]) -> Option<u64> {
    let [_, _, high, low, _, block, bits, channels] = *begin.first_chunk()?;
    let header = usize::from(u16::from_be_bytes([high, low])) + 4;
    if begin.get(header.checked_sub(6)?..header)? != b"(c)CRI" || block <= 2 || bits == 0 {
        return None;
    }
    let in_block = u64::from(block - 2) * 8 / u64::from(bits);
    Some(header as u64 + be32(begin, 12)?.div_ceil(in_block) * u64::from(block) * u64::from(channels))
}

impl Size {
    pub fn of(begin: &[u8]) -> Option<Size> {
        let known = |size: u64| Some(size).filter(|&size| size > 0 && size < UNKNOWN);
        let (promised, only) = match begin {
            [b'R', b'I', b'F', b'F', ..] => (known(le32(begin, 4)?)? + 8, true),
            [b'F', b'O', b'R', b'M', ..] => (known(be32(begin, 4)?)? + 8, true),
            [b'.', b's', b'n', b'd', ..] => (known(be32(begin, 8)?)? + be32(begin, 4)?, true),
            [b'r', b'i', b'f', b'f', 0x2e, ..] => {
                (le64(begin, 16).filter(|&size| size > 24 && size < 1 << 48)?, true)
            }
            [0x30, 0x26, 0xb2, 0x75, ..] => (asf(begin).filter(|&size| size > 100 && size < 1 << 48)?, true),
            [b'N', b'I', b'S', b'T', b'_', b'1', b'A', ..] => (sphere(begin)?, true),
            [b'.', b'S', b'o', b'X', ..] => (sox(begin, true)?, true),
            [b'X', b'o', b'S', b'.', ..] => (sox(begin, false)?, true),
            [b'S', b'T', b'R', b'M', ..] => (known(be32(begin, 4)?)? + 64, true),
            [b'M', b'M', b'M', b'D', ..] => (known(be32(begin, 4)?)? + 8, true),
            // (The mark of the end has a size of its own.)
            [0x80, 0, ..] => (adx(begin)?, false),
            _ => return None,
        };
        Some(Size { promised, seen: 0, only })
    }
}

impl Scan for Size {
    fn feed(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
    }

    fn finish(&mut self) -> Option<Finding> {
        self.judge(self.seen)
    }
}

impl Size {
    pub fn promised(&self) -> u64 {
        self.promised
    }

    /// The bytes behind which no sound of this file follows.
    pub fn end(&self) -> Option<u64> {
        self.only.then_some(self.promised)
    }

    /// The fault of a file with this many bytes.
    pub fn judge(&self, seen: u64) -> Option<Finding> {
        let promised = self.promised;
        // (A byte of padding at the end is often left out.)
        if seen + 1 < promised {
            let reason = format!("its header tells of {promised} bytes, and there are {seen}");
            return Some(Finding::Cut { bytes: Some(promised - seen), reason });
        }
        (self.only && seen > promised + 1).then(|| Finding::Surplus { bytes: seen - promised })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_give_lengths() {
        let of =
            |parts: &[&[u8]]| Size::of(&[&parts.concat()[..], &[0; 80]].concat()).map(|size| size.promised());
        assert_eq!(of(&[b"RIFF", &100u32.to_le_bytes()]), Some(108));
        assert_eq!(of(&[b"FORM", &100u32.to_be_bytes()]), Some(108));
        assert_eq!(of(&[b".SoX", &28u32.to_le_bytes(), &100u64.to_le_bytes()]), Some(432));
        assert_eq!(of(&[b"XoS.", &36u32.to_be_bytes(), &100u64.to_be_bytes()]), Some(440));
        assert_eq!(of(&[b".SoX", &28u32.to_le_bytes(), &[0; 8]]), None);
        assert_eq!(of(&[b"STRM", &100u32.to_be_bytes()]), Some(164));
        assert_eq!(of(&[b"MMMD", &100u32.to_be_bytes()]), Some(108));
        // Blocks of 18 bytes for 32 samples.
        let adx = |samples: u32| {
            of(&[
                &[0x80, 0, 0, 32, 3, 18, 4, 2, 0, 0, 0x3e, 0x80],
                &samples.to_be_bytes(),
                &[0; 14],
                b"(c)CRI",
            ])
        };
        assert_eq!(adx(64), Some(36 + 72));
        assert_eq!(adx(65), Some(36 + 108));
        assert_eq!(of(&[&[0x80, 0, 0, 32, 3, 18, 4, 2]]), None);
        assert_eq!(of(&[&[0x80, 0, 0, 0]]), None);
    }
}
