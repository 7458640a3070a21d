//! The beginning of another file behind the samples of a wave file that gives no length, as `cat` of two streamed files makes it.

use super::header::is_name_byte;
use super::kinds::is_mpeg_audio;

/// Beginnings of files that are long enough not to occur among samples.
const MARKS: [&[u8]; 5] = [
    b"fLaC\0\0\0\x22",
    b"fLaC\x80\0\0\x22",
    b"OggS\0\x02\0\0\0\0\0\0\0\0",
    b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb",
    b"caff\0\x01\0\0desc",
];
/// Bytes within which the first frame of an MP3 file has its note.
const NOTED: usize = 44;

/// The next beginning in some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It is here.
    At(usize),
    /// It may begin here; more bytes are needed.
    PerhapsAt(usize),
    Nowhere,
}

/// Looks for the beginning of a file.
pub(super) fn find(bytes: &[u8]) -> Found {
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

/// True if a file begins here. `None` if more bytes are needed to tell.
fn begins(bytes: &[u8]) -> Option<bool> {
    // True if the bytes that are there fit, and if all are there.
    let all = |pattern: &[fn(u8) -> bool]| {
        let there = bytes.iter().zip(pattern).all(|(&byte, fits)| fits(byte));
        (there, bytes.len() >= pattern.len())
    };
    let any: fn(u8) -> bool = |_| true;
    let upper: fn(u8) -> bool = |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let small: fn(u8) -> bool = |byte| byte < 0x80;
    let mut open = false;
    for magic in [b"RIFF", b"RIFX", b"RF64", b"BW64"] {
        let type_at_8 = bytes.iter().skip(8).zip(b"WAVE").all(|(one, other)| one == other);
        let name_at_12 = bytes.iter().skip(12).take(4).all(|&byte| is_name_byte(byte));
        if starts(bytes, magic) && type_at_8 && name_at_12 {
            if bytes.len() >= 16 {
                return Some(true);
            }
            open = true;
        }
    }
    for mark in MARKS {
        if starts(bytes, mark) {
            if bytes.len() >= mark.len() {
                return Some(true);
            }
            open = true;
        }
    }
    // Notes of an MP3 file: version, flags, a size of 28 bits, a name.
    let notes: [fn(u8) -> bool; 13] = [
        |byte| byte == b'I',
        |byte| byte == b'D',
        |byte| byte == b'3',
        |byte| (2..=4).contains(&byte),
        |byte| byte == 0,
        |byte| byte & 0x0f == 0,
        small,
        small,
        small,
        small,
        upper,
        upper,
        upper,
    ];
    let aiff: [fn(u8) -> bool; 16] = [
        |byte| byte == b'F',
        |byte| byte == b'O',
        |byte| byte == b'R',
        |byte| byte == b'M',
        any,
        any,
        any,
        any,
        |byte| byte == b'A',
        |byte| byte == b'I',
        |byte| byte == b'F',
        |byte| byte == b'F' || byte == b'C',
        upper,
        upper,
        upper,
        upper,
    ];
    for (there, whole) in [all(&notes), all(&aiff)] {
        match (there, whole) {
            (true, true) => return Some(true),
            (true, false) => open = true,
            (false, _) => {}
        }
    }
    match bytes {
        [0xff] | [0xff, _] => open |= bytes.get(1).is_none_or(|second| second & 0xe6 == 0xe2),
        [0xff, second, third, ..] if second & 0xe6 == 0xe2 && is_mpeg_audio(*second, *third) => {
            let frame = &bytes[4.min(bytes.len())..bytes.len().min(NOTED)];
            // (Zeros before the note.)
            let silent = frame.iter().position(|&byte| byte != 0).unwrap_or(frame.len());
            let noted = [b"Xing", b"Info"].iter().any(|name| starts(&frame[silent..], *name));
            match noted && silent > 6 {
                true if frame.len() >= silent + 4 => return Some(true),
                true => open |= bytes.len() < NOTED,
                false => open |= silent == frame.len() && bytes.len() < NOTED,
            }
        }
        _ => {}
    }
    if open { None } else { Some(false) }
}

/// True if the first bytes are those of the mark, as far as they are there.
fn starts(bytes: &[u8], mark: &[u8]) -> bool {
    bytes.iter().zip(mark).all(|(one, other)| one == other)
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
        for none in [
            &b"RIFF\xff\xff\xff\xffAVI "[..],
            b"fLaCx",
            b"ID3\x04\x01",
            b"\xff\xff\xff\xff",
            b"\xff\xfb\x50\xc4\x01",
        ] {
            assert_eq!(
                find(none),
                if none.ends_with(b"\xff") { Found::PerhapsAt(3) } else { Found::Nowhere }
            );
        }
    }
}
