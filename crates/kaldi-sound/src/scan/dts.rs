//! DTS: frames of the core, in each of the four orders of bits that files have, and the extensions of DTS-HD behind them.

use super::frames::{Frames, Length};

/// The first bytes of a frame: 16 bits to a word or 14, high byte first or last.
const WIDE: [u8; 4] = [0x7f, 0xfe, 0x80, 0x01];
const WIDE_SWAPPED: [u8; 4] = [0xfe, 0x7f, 0x01, 0x80];
const NARROW: [u8; 4] = [0x1f, 0xff, 0xe8, 0x00];
const NARROW_SWAPPED: [u8; 4] = [0xff, 0x1f, 0x00, 0xe8];
/// The first bytes of an extension.
const EXTENSION: [u8; 4] = [0x64, 0x58, 0x20, 0x25];
/// Bytes that tell the length.
const LOOKED_AT: usize = 12;

/// Chooses the frames of a file that begins like this.
pub(super) fn of(begin: &[u8]) -> Option<Frames> {
    let marks = [WIDE, WIDE_SWAPPED, NARROW, NARROW_SWAPPED];
    begin.first_chunk::<4>().is_some_and(|mark| marks.contains(mark)).then(|| Frames::of(frame))
}

/// Words of 14 bits as bytes.
fn widened(bytes: [u8; LOOKED_AT]) -> [u8; LOOKED_AT] {
    let words = bytes.chunks_exact(2).map(|pair| u128::from(pair[0] & 0x3f) << 8 | u128::from(pair[1]));
    let bits = words.fold(0, |sum, word| sum << 14 | word) << (128 - 14 * LOOKED_AT / 2);
    let mut out = [0; LOOKED_AT];
    out.copy_from_slice(&bits.to_be_bytes()[..LOOKED_AT]);
    out
}

fn swapped(mut bytes: [u8; LOOKED_AT]) -> [u8; LOOKED_AT] {
    bytes.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
    bytes
}

/// The length of a frame or an extension (ETSI TS 102 114, 5.3 and 7.4).
fn frame(begin: &[u8]) -> Length {
    let (Some(&mark), Some(&bytes)) = (begin.first_chunk::<4>(), begin.first_chunk::<LOOKED_AT>()) else {
        return Length::Unknown;
    };
    let core = |bytes: [u8; LOOKED_AT]| {
        (u64::from(bytes[5] & 3) << 12 | u64::from(bytes[6]) << 4 | u64::from(bytes[7] >> 4)) + 1
    };
    let least = |size: u64| if size < 96 { Length::NoFrame } else { Length::Bytes(size) };
    match mark {
        WIDE => least(core(bytes)),
        WIDE_SWAPPED => least(core(swapped(bytes))),
        NARROW => least((core(widened(bytes)) * 8).div_ceil(14) * 2),
        NARROW_SWAPPED => least((core(widened(swapped(bytes))) * 8).div_ceil(14) * 2),
        EXTENSION => {
            // Behind the mark: 8 bits of the user, 2 of the index, 1 of the form of the sizes of header and whole.
            let bits = bytes[5..].iter().take(6).fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte));
            let size = match bytes[5] & 0x20 {
                0 => bits >> (48 - 3 - 8 - 16) & 0xffff,
                _ => bits >> (48 - 3 - 12 - 20) & 0xf_ffff,
            };
            if size < LOOKED_AT as u64 { Length::NoFrame } else { Length::Bytes(size + 1) }
        }
        // Padding.
        [0, ..] => Length::Padding(begin.iter().take_while(|&&byte| byte == 0).count() as u64),
        _ => Length::NoFrame,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, Scan};
    use super::*;

    /// A frame of 1006 bytes, as words of 16 bits.
    fn core() -> Vec<u8> {
        let mut bytes = [&WIDE[..], &[0xfc, 0x3c, 0x3e, 0xd0]].concat();
        bytes.resize(1006, 5);
        bytes
    }

    /// The same in words of 14 bits.
    fn narrow() -> Vec<u8> {
        let bytes = core();
        let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| u16::from(byte >> (7 - at % 8) & 1));
        let words = (0..(1006 * 8usize).div_ceil(14)).map(|word| {
            let bits = (0..14).fold(0, |sum: u16, at| sum << 1 | bit(14 * word + at));
            // (The sign goes on in the bits above.)
            if bits & 0x2000 == 0 { bits } else { bits | 0xc000 }
        });
        words.flat_map(u16::to_be_bytes).collect()
    }

    fn swapped(bytes: &[u8]) -> Vec<u8> {
        bytes.chunks_exact(2).flat_map(|pair| [pair[1], pair[0]]).collect()
    }

    fn fault(bytes: &[u8], piece: usize) -> Option<Finding> {
        let mut frames = of(bytes).unwrap();
        bytes.chunks(piece).for_each(|bytes| frames.feed(bytes));
        frames.finish()
    }

    #[test]
    fn ends_within_frames_and_bytes_between_them_are_faults() {
        assert_eq!(narrow()[..4], NARROW);
        assert_eq!(swapped(&narrow())[..4], NARROW_SWAPPED);
        // Extensions of 200 bytes, with sizes in few and in many bits.
        let few = [&EXTENSION[..], &[0, 0x01, 0x00, 0x18, 0xe0, 0, 0, 0], &[9; 188]].concat();
        let many = [&EXTENSION[..], &[0, 0x20, 0x10, 0x00, 0x18, 0xe0, 0, 0], &[9; 188]].concat();
        for frame in [core(), swapped(&core()), narrow(), swapped(&narrow())] {
            for whole in [
                frame.repeat(5),
                [&frame[..], &few, &frame, &many, &frame, &few].concat(),
                [&frame[..], &[0; 20], &frame, &frame].concat(),
            ] {
                for piece in [1, 11, 100_000] {
                    assert_eq!(fault(&whole, piece), None, "{}", whole[..12].escape_ascii());
                    for end in [whole.len() - 1, whole.len() - 190, 1500] {
                        let cut = fault(&whole[..end], piece);
                        assert!(matches!(cut, Some(Finding::Cut { bytes: None, .. })), "{end}: {cut:?}");
                    }
                    let gap = [&whole[..frame.len() + 50], &whole[frame.len() + 62..]].concat();
                    let broken = fault(&gap, piece);
                    assert!(matches!(broken, Some(Finding::Broken { .. })), "{broken:?}");
                }
            }
        }
        assert!(of(b"some other file").is_none());
    }
}
