//! The beginning of another file behind the samples of a wave file that gives no length, as `cat` of two streamed files makes it.

use super::header::is_name_byte;
use super::kinds::is_mpeg_audio;

/// Beginnings of files that are long enough not to occur among samples, and the kinds of their bytes: `=` is that byte, and so are
/// all without a kind; `.` any; `n` one of a chunk's name; `A` a capital or a digit; `7` one below 128; `v` 2 to 4; `f` one without low bits;
/// `C` F or C.
const FILES: [(&[u8], &[u8]); 11] = [
    (b"RIFF\0\0\0\0WAVE\0\0\0\0", b"====....====nnnn"),
    (b"RIFX\0\0\0\0WAVE\0\0\0\0", b"====....====nnnn"),
    (b"RF64\0\0\0\0WAVE\0\0\0\0", b"====....====nnnn"),
    (b"BW64\0\0\0\0WAVE\0\0\0\0", b"====....====nnnn"),
    (b"fLaC\0\0\0\x22", b""),
    (b"fLaC\x80\0\0\x22", b""),
    (b"OggS\0\x02\0\0\0\0\0\0\0\0", b""),
    (b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb", b""),
    (b"caff\0\x01\0\0desc", b""),
    // Notes of an MP3 file: version, flags, a size of 28 bits, a name.
    (b"ID3\0\0\0\0\0\0\0\0\0\0", b"===v=f7777AAA"),
    (b"FORM\0\0\0\0AIFF\0\0\0\0", b"====....===CAAAA"),
];
/// Bytes within which the first frame of an MP3 file has its note.
const NOTED: usize = 44;
/// Frames of MP3 that follow each other at a beginning without a note.
const FRAMES: usize = 4;

/// The next beginning in some bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// It is here.
    At(usize),
    /// It may begin here; more bytes are needed.
    PerhapsAt(usize),
    Nowhere,
}

/// Looks for the beginning of a file.
pub fn find(bytes: &[u8]) -> Found {
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(byte, b'R' | b'B' | b'f' | b'O' | b'r' | b'c' | b'I' | b'F' | 0xff) {
            match begins(&bytes[at..]) {
                Some(true) => return Found::At(at),
                Some(false) => {}
                None => return Found::PerhapsAt(at),
            }
        }
    }
    Found::Nowhere
}

/// True if a byte is one of a kind; `same` if it is that of the beginning.
fn fits(byte: u8, kind: u8, same: bool) -> bool {
    match kind {
        b'.' => true,
        b'n' => is_name_byte(byte),
        b'A' => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        b'7' => byte < 0x80,
        b'v' => (2..=4).contains(&byte),
        b'f' => byte & 0x0f == 0,
        b'C' => byte == b'F' || byte == b'C',
        _ => same,
    }
}

/// True if a file begins here. `None` if more bytes are needed to tell.
fn begins(bytes: &[u8]) -> Option<bool> {
    let mut open = false;
    for (mark, kinds) in FILES {
        let kind = |at: usize| kinds.get(at).copied().unwrap_or(b'=');
        if bytes.iter().zip(mark).enumerate().all(|(at, (&byte, &own))| fits(byte, kind(at), byte == own)) {
            if bytes.len() >= mark.len() {
                return Some(true);
            }
            open = true;
        }
    }
    match bytes {
        [0xff] | [0xff, _] => open |= bytes.get(1).is_none_or(|second| second & 0xe6 == 0xe2),
        [0xff, second, third, ..] if second & 0xe6 == 0xe2 && is_mpeg_audio(*second, *third) => {
            for found in [is_noted(bytes), is_followed(bytes)] {
                match found {
                    Some(true) => return Some(true),
                    Some(false) => {}
                    None => open = true,
                }
            }
        }
        _ => {}
    }
    if open { None } else { Some(false) }
}

/// True if the frame of MP3 that begins here has the note of a first one. `None` if more bytes are needed to tell.
fn is_noted(bytes: &[u8]) -> Option<bool> {
    let frame = &bytes[4.min(bytes.len())..bytes.len().min(NOTED)];
    // (Zeros before the note.)
    let silent = frame.iter().position(|&byte| byte != 0).unwrap_or(frame.len());
    let noted = [b"Xing", b"Info"].iter().any(|name| frame[silent..].iter().zip(*name).all(|(a, b)| a == b));
    match noted && silent > 6 {
        true if frame.len() >= silent + 4 => Some(true),
        true => (bytes.len() >= NOTED).then_some(false),
        false => (silent < frame.len() || bytes.len() >= NOTED).then_some(false),
    }
}

/// True if frames of MP3 follow each other from here on. `None` if more bytes are needed to tell.
fn is_followed(bytes: &[u8]) -> Option<bool> {
    let mut at = 0;
    for _ in 0..FRAMES {
        let [first, second, third, ..] = *bytes.get(at..)? else { return None };
        // (All have the same version, layer and rate.)
        let is_like = first == 0xff && second & 0xfe == bytes[1] & 0xfe && third & 0x0c == bytes[2] & 0x0c;
        let Some(size) = frame_size(second, third).filter(|_| is_like) else { return Some(false) };
        at += size;
    }
    Some(true)
}

/// The bytes of a frame of MP3 by the second and the third byte of its header (ISO/IEC 11172-3, 2.4.2.3).
fn frame_size(second: u8, third: u8) -> Option<usize> {
    const FIRST: [usize; 14] = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
    const SECOND: [usize; 14] = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
    let is_first = second & 0x18 == 0x18;
    let rates = if is_first { FIRST } else { SECOND };
    let bits = 1000 * rates.get(usize::from(third >> 4).checked_sub(1)?)?;
    let rate = [44_100, 48_000, 32_000].get(usize::from(third >> 2 & 3))?;
    let rate = match second & 0x18 {
        0x18 => *rate,
        0x10 => rate / 2,
        _ => rate / 4,
    };
    Some(if is_first { 144 } else { 72 } * bits / rate + usize::from(third >> 1 & 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_found_however_the_bytes_come() {
        let mut note = vec![0xff, 0xfb, 0x50, 0xc4];
        note.resize(36, 0);
        note.extend(b"Info");
        for begin in [
            &b"RIFF\xff\xff\xff\xffWAVEfmt "[..],
            b"RF64\xff\xff\xff\xffWAVEds64",
            b"fLaC\0\0\0\x22",
            b"OggS\0\x02\0\0\0\0\0\0\0\0",
            b"ID3\x04\0\0\0\0\0\x23TSS",
            b"caff\0\x01\0\0desc",
            b"FORM\0\0\0\0AIFFCOMM",
            &note,
        ] {
            let bytes = [b"\x01\xff\x02R\0", begin, b"\x03\x04"].concat();
            assert_eq!(find(&bytes), Found::At(5), "{}", begin.escape_ascii());
            for end in 6..5 + begin.len() {
                assert_eq!(find(&bytes[..end]), Found::PerhapsAt(5), "{} {end}", begin.escape_ascii());
            }
        }
        // Frames of MP3 without a note, of 104 bytes.
        let frame = [&[0xff, 0xfb, 0x10, 0xc4][..], &[1; 100]].concat();
        let frames = frame.repeat(4);
        assert_eq!(find(&[b"\xff\x02", &frames[..]].concat()), Found::At(2));
        for end in [2, 100, 105, 310] {
            assert_eq!(find(&frames[..end]), Found::PerhapsAt(0), "{end}");
        }
        let other = [&frame.repeat(3)[..], &[0xff, 0xf3, 0x10, 0xc4], &[1; 100]].concat();
        assert_eq!(find(&other), Found::Nowhere);
        for none in [&b"RIFF\xff\xff\xff\xffAVI "[..], b"fLaCx", b"ID3\x04\x01", b"\xff\xff\xff\xff"] {
            assert_eq!(
                find(none),
                if none.ends_with(b"\xff") { Found::PerhapsAt(3) } else { Found::Nowhere }
            );
        }
    }
}
