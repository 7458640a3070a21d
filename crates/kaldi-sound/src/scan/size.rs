//! Formats with a length in their header: RIFF, AIFF, AU, Wave64, ASF, NIST SPHERE.

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

fn be32(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?).into())
}

fn le32(bytes: &[u8], at: usize) -> Option<u64> {
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
