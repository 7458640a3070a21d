//! Notes within MPEG audio: the number of frames, the encoder's delay and padding (Xing, LAME, VBRI), and titles.

use super::header::Header;

/// Samples by which every decoder of MP3 is late.
const DECODER_DELAY: u64 = 529;

/// A note in a frame of its own about the frames that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tag {
    /// The number of frames that follow.
    pub frames: Option<u64>,
    /// Samples at the beginning that the encoder has added, and the decoder's delay.
    pub delay: u64,
    /// The end of the sound and the end of the padding behind it, in samples from the beginning of the delay.
    pub end: Option<(u64, u64)>,
}

fn be32(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?).into())
}

impl Tag {
    /// The note in a frame of layer 3, if it is one.
    pub fn of(header: &Header, frame: &[u8]) -> Option<Tag> {
        if header.layer != 3 {
            return None;
        }
        let side = match (header.first_version, header.channels) {
            (true, 2) => 32,
            (true, _) | (false, 2) => 17,
            (false, _) => 9,
        };
        // (A checksum may come before.)
        let xing = [4 + side, 6 + side]
            .into_iter()
            .find(|&at| matches!(frame.get(at..at + 4), Some(b"Xing" | b"Info")));
        if let Some(at) = xing {
            return Some(Tag::xing(header, frame, at));
        }
        if frame.get(36..40) == Some(b"VBRI") {
            return Some(Tag { frames: be32(frame, 50), ..Tag::default() });
        }
        None
    }

    fn xing(header: &Header, frame: &[u8], at: usize) -> Tag {
        let flags = be32(frame, at + 4).unwrap_or(0);
        let mut tag = Tag::default();
        let mut next = at + 8;
        if flags & 1 != 0 {
            tag.frames = be32(frame, next).filter(|&frames| frames > 0);
            next += 4;
        }
        next += if flags & 2 != 0 { 4 } else { 0 };
        next += if flags & 4 != 0 { 100 } else { 0 };
        next += if flags & 8 != 0 { 4 } else { 0 };
        // The encoder's name, and 12 bytes of other notes before delay and padding.
        let named = frame.get(next).is_some_and(u8::is_ascii_alphabetic);
        if let Some(both) = be32(frame, next + 20).filter(|_| named) {
            let (delay, padding) = (both >> 12 & 0xfff, both & 0xfff);
            if delay + padding > 0 {
                tag.delay = delay + DECODER_DELAY;
                let all = tag.frames.map(|frames| frames * header.samples as u64);
                let end = all.and_then(|all| (all + DECODER_DELAY).checked_sub(padding));
                tag.end = end.zip(all).filter(|(end, all)| *end >= tag.delay && end <= all);
            }
        }
        tag
    }
}

/// The size of a title or the like at the beginning of some bytes, which is no sound: ID3, APE, Lyrics3.
pub(super) fn foreign(bytes: &[u8]) -> Option<usize> {
    let low = |at: usize| bytes.get(at).map(|&byte| usize::from(byte & 0x7f));
    match bytes {
        [b'I', b'D', b'3', version, _, flags, ..] if *version < 0x80 => {
            let size = low(6)? << 21 | low(7)? << 14 | low(8)? << 7 | low(9)?;
            Some(10 + size + if flags & 0x10 != 0 { 10 } else { 0 })
        }
        [b'T', b'A', b'G', b'+', ..] => Some(227),
        [b'T', b'A', b'G', ..] => Some(128),
        [b'A', b'P', b'E', b'T', b'A', b'G', b'E', b'X', ..] => {
            let size = u32::from_le_bytes(bytes.get(12..16)?.try_into().ok()?) as usize;
            let flags = u32::from_le_bytes(bytes.get(20..24)?.try_into().ok()?);
            // The size has the footer, not the header; at the beginning of a tag stands a header.
            Some(if flags & 0x2000_0000 != 0 { size.saturating_add(32) } else { 32 })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_and_padding() {
        let header = Header::parse(&[0xff, 0xfb, 0x90, 0x64]).unwrap();
        let mut frame = vec![0; header.size];
        frame[36..40].copy_from_slice(b"Info");
        frame[43] = 1;
        frame[47] = 10;
        frame[48..52].copy_from_slice(b"LAME");
        // 576 and 1000 samples.
        frame[48 + 21..48 + 24].copy_from_slice(&[0x24, 0x03, 0xe8]);
        let tag = Tag::of(&header, &frame).unwrap();
        let expected = Tag { frames: Some(10), delay: 576 + 529, end: Some((11_520 + 529 - 1000, 11_520)) };
        assert_eq!(tag, expected);
        frame[36] = 0;
        assert_eq!(Tag::of(&header, &frame), None);
    }

    #[test]
    fn titles() {
        assert_eq!(foreign(b"ID3\x04\0\0\0\0\x02\x01abc"), Some(10 + 257));
        assert_eq!(foreign(b"TAGtitle"), Some(128));
        assert_eq!(
            foreign(&[&b"APETAGEX\xd0\x07\0\0\x64\0\0\0"[..], &[0; 4], &[0, 0, 0, 0xa0]].concat()),
            Some(132)
        );
        assert_eq!(foreign(b"\xff\xfb\x90\x64"), None);
    }
}
