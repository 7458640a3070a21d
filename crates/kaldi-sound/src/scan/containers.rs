//! Containers that ffmpeg reads, whose packets give their length: MPEG streams, Flash video, MXF, Creative's VOC; and GSM. An end within a
//! packet is that of a file that is cut, of which ffmpeg says nothing.

use super::frames::{Frames, Length};

/// Bytes of a packet of an MPEG transport stream, and of one with a time stamp in front (`.m2ts`).
const PACKET: usize = 188;
const STAMPED: usize = 192;
const SYNC: u8 = 0x47;
/// Packets that are looked at to tell a transport stream.
const PACKETS: usize = 3;

/// Chooses the packets of a file that begins like this.
pub(super) fn of(begin: &[u8]) -> Option<Frames> {
    let packets = ("a packet", "packets");
    let is_stream = |first: usize, size: usize| {
        (0..PACKETS).all(|number| begin.get(first + number * size) == Some(&SYNC))
    };
    match begin {
        [0, 0, 1, 0xba, ..] => Some(Frames::named(packets, program_stream)),
        [b'F', b'L', b'V', 1, ..] => Some(Frames::named(("a tag", "tags"), flash)),
        _ if begin.starts_with(&KEY) => Some(Frames::named(packets, material)),
        [first, ..] if first >> 4 == GSM && is_gsm(begin) => Some(Frames::of(gsm)),
        _ if begin.starts_with(VOC) => Some(Frames::named(("a block", "blocks"), voc)),
        _ if is_stream(0, PACKET) => Some(Frames::named(packets, transport_stream)),
        _ if is_stream(STAMPED - PACKET, STAMPED) => Some(Frames::named(packets, stamped_stream)),
        _ => None,
    }
}

/// The first bytes of the key of a packet of MXF, and its bytes.
const KEY: [u8; 4] = [0x06, 0x0e, 0x2b, 0x34];
const KEY_LENGTH: usize = 16;

/// A packet of MXF: key, length, contents (SMPTE 377).
fn material(begin: &[u8]) -> Length {
    match begin.get(KEY_LENGTH) {
        _ if !KEY.starts_with(&begin[..begin.len().min(KEY.len())]) => Length::NoFrame,
        None => Length::Unknown,
        Some(&short @ ..0x80) => Length::Bytes(KEY_LENGTH as u64 + 1 + u64::from(short)),
        Some(&long) => match begin.get(KEY_LENGTH + 1..KEY_LENGTH + 1 + usize::from(long & 0x7f)) {
            _ if !(0x81..=0x88).contains(&long) => Length::NoFrame,
            None => Length::Unknown,
            Some(bytes) => {
                let size = bytes.iter().fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte));
                Length::Bytes(size.saturating_add((KEY_LENGTH + 1 + bytes.len()) as u64))
            }
        },
    }
}

/// The first four bits of a frame of GSM 06.10, and its bytes.
const GSM: u8 = 0xd;
const GSM_FRAME: usize = 33;

fn is_gsm(begin: &[u8]) -> bool {
    let mut frames = begin.iter().step_by(GSM_FRAME);
    begin.len() > 8 * GSM_FRAME && frames.all(|first| first >> 4 == GSM)
}

fn gsm(begin: &[u8]) -> Length {
    match begin {
        [] => Length::Unknown,
        [first, ..] if first >> 4 == GSM => Length::Bytes(GSM_FRAME as u64),
        _ => Length::NoFrame,
    }
}

fn transport_stream(begin: &[u8]) -> Length {
    match begin {
        [] => Length::Unknown,
        [SYNC, ..] => Length::Bytes(PACKET as u64),
        _ => Length::NoFrame,
    }
}

fn stamped_stream(begin: &[u8]) -> Length {
    match begin.get(STAMPED - PACKET) {
        None => Length::Unknown,
        Some(&SYNC) => Length::Bytes(STAMPED as u64),
        Some(_) => Length::NoFrame,
    }
}

/// A pack header, the end, or a packet of a program stream (ISO/IEC 13818-1, 2.5).
pub(super) fn program_stream(begin: &[u8]) -> Length {
    let Some(&[a, b, c, code]) = begin.first_chunk() else { return Length::Unknown };
    match code {
        // Padding.
        _ if [a, b, c] == [0, 0, 0] => Length::Padding(1),
        _ if [a, b, c] != [0, 0, 1] => Length::NoFrame,
        0xb9 => Length::Bytes(4),
        0xba => match begin.get(4) {
            None => Length::Unknown,
            // MPEG 1
            Some(byte) if byte >> 4 == 2 => Length::Bytes(12),
            // MPEG 2, with stuffing
            Some(_) => begin.get(13).map_or(Length::Unknown, |byte| Length::Bytes(14 + u64::from(byte & 7))),
        },
        0xbb.. => match begin.get(4..6) {
            Some(&[high, low]) => Length::Bytes(6 + u64::from(u16::from_be_bytes([high, low]))),
            _ => Length::Unknown,
        },
        _ => Length::NoFrame,
    }
}

/// The header of a Flash video, or a tag with the size of it that follows.
fn flash(begin: &[u8]) -> Length {
    match begin {
        [b'F', ..] if begin.len() < 9 => Length::Unknown,
        [b'F', b'L', b'V', 1, _, a, b, c, d, ..] => {
            Length::Bytes(u64::from(u32::from_be_bytes([*a, *b, *c, *d])) + 4)
        }
        // Sound, pictures, notes.
        [kind, rest @ ..] if matches!(kind & 0x1f, 8 | 9 | 18) => match rest {
            [a, b, c, ..] => Length::Bytes(11 + u64::from(u32::from_be_bytes([0, *a, *b, *c])) + 4),
            _ => Length::Unknown,
        },
        [] => Length::Unknown,
        _ => Length::NoFrame,
    }
}

/// The first bytes of a VOC file.
const VOC: &[u8] = b"Creative Voice File\x1a";

/// The header of a VOC file, or a block.
fn voc(begin: &[u8]) -> Length {
    match begin {
        [] => Length::Unknown,
        // The end; some writers leave it out.
        [0, ..] => Length::Bytes(1),
        [b'C', ..] => match begin.get(20..22) {
            _ if !VOC.starts_with(&begin[..begin.len().min(VOC.len())]) => Length::NoFrame,
            Some(&[low, high]) => Length::Bytes(u64::from(u16::from_le_bytes([low, high]))),
            _ => Length::Unknown,
        },
        [1..=9, a, b, c, ..] => Length::Bytes(4 + u64::from(u32::from_le_bytes([*a, *b, *c, 0]))),
        [1..=9, ..] => Length::Unknown,
        _ => Length::NoFrame,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, Scan};
    use super::*;

    /// The fault of some bytes that come in pieces of `piece`.
    fn fault(bytes: &[u8], piece: usize) -> Option<Finding> {
        let mut frames = of(bytes).unwrap();
        bytes.chunks(piece).for_each(|bytes| frames.feed(bytes));
        frames.finish()
    }

    fn is_cut(finding: Option<Finding>) -> bool {
        matches!(finding, Some(Finding::Cut { .. }))
    }

    #[test]
    fn ends_within_packets_and_bytes_between_them_are_faults() {
        let speech = [&[GSM << 4 | 2][..], &[7; GSM_FRAME - 1]].concat();
        let packet = [&[SYNC][..], &[7; PACKET - 1]].concat();
        let stamped = [&[0; 4][..], &packet].concat();
        let pack = [
            &[0, 0, 1, 0xba, 0x44, 0, 4, 0, 4, 1, 0, 0, 3, 0xfa, 0xff, 0xff][..],
            &[0, 0, 1, 0xc0, 0, 9],
            &[7; 9],
        ]
        .concat();
        let tag = [&[8, 0, 0, 20][..], &[0; 7], &[7; 20], &[0, 0, 0, 31]].concat();
        let flash = [&b"FLV\x01\x04\0\0\0\x09\0\0\0\0"[..], &tag, &tag].concat();
        let block = [&[1, 10, 0, 0][..], &[7; 10]].concat();
        let voc = [VOC, &[26, 0, 0x0a, 1, 0x29, 0x11], &block, &block].concat();
        let long = [&KEY[..], &[3; 12], &[0x83, 0, 0, 200], &[7; 200]].concat();
        let short = [&KEY[..], &[4; 12], &[90], &[7; 90]].concat();
        for whole in [
            [&long[..], &short, &long, &short].concat(),
            packet.repeat(4),
            speech.repeat(10),
            stamped.repeat(4),
            [pack.repeat(3), vec![0, 0, 1, 0xb9]].concat(),
            [&pack.repeat(3)[..], &[0; 20], &pack, &[0; 21], &pack].concat(),
            flash,
            [&voc[..], &[0]].concat(),
            voc,
        ] {
            for piece in [1, 3, 1000] {
                assert_eq!(fault(&whole, piece), None, "{}", whole.escape_ascii());
                assert!(is_cut(fault(&whole[..whole.len() - 2], piece)), "{}", whole.escape_ascii());
            }
        }
        // Zeros behind the last packet, as on Video CDs, and before the end.
        assert_eq!(fault(&[&pack.repeat(3)[..], &[0, 0, 0, 0, 0, 0, 1, 0xb9]].concat(), 5), None);
        for zeros in 4..9 {
            assert_eq!(fault(&[&pack.repeat(3)[..], &vec![0; zeros]].concat(), 5), None);
        }
        // Bytes are missing in the middle.
        let gap = [&packet.repeat(4)[..], &packet[50..], &packet].concat();
        assert!(matches!(fault(&gap, 100), Some(Finding::Broken { hole: None, .. })));
        assert!(of(b"GGGG").is_none() && of(b"some other file").is_none());
    }
}
