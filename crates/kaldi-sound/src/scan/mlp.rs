//! Meridian Lossless Packing: MLP and TrueHD, access units that give their length and have a parity in their first bits.

use super::frames::{Frames, Length, ac3};

/// The mark of a major access unit, at its fifth byte, and the last byte of that of TrueHD; that of MLP is one more.
const MARK: [u8; 3] = [0xf8, 0x72, 0x6f];
const TRUE_HD: u8 = 0xba;
/// Bytes before the mark, and of the header that begins with it.
const HEADER: usize = 4;
const MAJOR: usize = 28;
/// Bytes of the longest beginning: both headers, an extension of the second one, and 15 substreams of 4 bytes.
const LONGEST: usize = HEADER + MAJOR + 32 + 60;

/// Chooses the access units of a file that begins like this.
pub(super) fn of(begin: &[u8]) -> Option<Frames> {
    is_major(begin).then(|| {
        let mut substreams = 0;
        Frames::of(move |begin| unit(begin, &mut substreams))
    })
}

fn is_major(unit: &[u8]) -> bool {
    unit.get(HEADER..HEADER + 3) == Some(&MARK[..])
        && unit.get(HEADER + 3).is_some_and(|&kind| kind & !1 == TRUE_HD)
}

/// The length of an access unit. A major one tells the number of substreams. Disks have frames of AC-3 between them.
fn unit(begin: &[u8], substreams: &mut usize) -> Length {
    let [high, low, third, fourth, ..] = *begin else { return Length::Unknown };
    if [high, low] == [0x0b, 0x77] {
        return ac3(begin);
    }
    let size = 2 * u64::from(u16::from_be_bytes([high & 0x0f, low]));
    if begin.len() < LONGEST.min(size as usize) {
        return Length::Unknown;
    }
    let mut at = HEADER;
    if is_major(begin) {
        let Some(header) = begin.get(HEADER..HEADER + MAJOR) else { return Length::NoFrame };
        *substreams = usize::from(header[16] >> 4);
        at += MAJOR;
        if header[3] == TRUE_HD && header[25] & 1 == 1 {
            at += 2 + 2 * usize::from(header[26] >> 4);
        }
    }
    let mut parity = high ^ low ^ third ^ fourth;
    for _ in 0..*substreams {
        let Some(&first) = begin.get(at) else { return Length::NoFrame };
        let next = at + if first & 0x80 == 0 { 2 } else { 4 };
        let Some(entry) = begin.get(at..next) else { return Length::NoFrame };
        parity = entry.iter().fold(parity, |sum, byte| sum ^ byte);
        at = next;
    }
    match (parity >> 4 ^ parity) & 0x0f {
        0x0f if size >= at as u64 => Length::Bytes(size),
        _ => Length::NoFrame,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, Scan};
    use super::*;

    /// An access unit of 40 bytes with one substream, as ffmpeg's encoders write them.
    fn unit_of(time: u8, kind: Option<u8>) -> Vec<u8> {
        let mut bytes = vec![0, 20, 0, time];
        if let Some(kind) = kind {
            bytes.extend([0xf8, 0x72, 0x6f, kind]);
            bytes.extend([0; 12]);
            bytes.extend([0x10, 0x54]);
            bytes.resize(32, 0);
        }
        bytes.extend([0x20, 3]);
        let parity = bytes[..4].iter().chain(&bytes[bytes.len() - 2..]).fold(0, |sum, byte| sum ^ byte);
        bytes[0] = ((parity >> 4 ^ parity) & 15 ^ 15) << 4;
        bytes.resize(40, 7);
        bytes
    }

    fn fault(bytes: &[u8], piece: usize) -> Option<Finding> {
        let mut frames = of(bytes).unwrap();
        bytes.chunks(piece).for_each(|bytes| frames.feed(bytes));
        frames.finish()
    }

    #[test]
    fn ends_within_access_units_and_bytes_between_them_are_faults() {
        let disk = [&[0x0b, 0x77, 0, 0, 0, 0x40][..], &[7; 122]].concat();
        for kind in [0xba, 0xbb] {
            let whole: Vec<u8> = (0..50).flat_map(|n| unit_of(n, (n % 16 == 0).then_some(kind))).collect();
            for piece in [1, 7, 4000] {
                assert_eq!(fault(&whole, piece), None);
                assert_eq!(fault(&[&whole[..], &disk, &whole].concat(), piece), None);
                for end in [1999, 1970, 1961, 1000 + 33] {
                    let cut = fault(&whole[..end], piece);
                    assert!(matches!(cut, Some(Finding::Cut { bytes: None, .. })), "{end}: {cut:?}");
                }
                let gap = [&whole[..1000], &whole[1015..]].concat();
                let broken = fault(&gap, piece);
                assert!(matches!(broken, Some(Finding::Broken { hole: None, .. })), "{broken:?}");
            }
        }
        assert!(of(b"some other file").is_none());
    }
}
