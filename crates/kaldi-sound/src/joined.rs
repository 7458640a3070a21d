//! Files one behind the other, as `cat` makes them: finds the beginning of the next one.

use crate::{RATES, scan};

/// A format whose files begin with bytes that do not occur within them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joint {
    Flac,
    Matroska,
    Aiff,
    Amr,
    Au,
    Flash,
    Voc,
    Wave,
    Wave64,
    IrcamLittle,
    IrcamBig,
    Ogg,
}

/// Bytes that may be needed to tell a beginning.
const LONGEST: usize = 64;

/// The next beginning in some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It is here.
    At(usize),
    /// It may begin here; more bytes are needed.
    PerhapsAt(usize),
    Nowhere,
}

/// True for the header of an IRCAM file: the magic with the number of a machine, rate, channels, coding.
fn is_ircam(bytes: &[u8], number: fn([u8; 4]) -> u32) -> bool {
    const CODINGS: [u32; 9] = [1, 2, 3, 4, 8, 0x1_0001, 0x2_0001, 0x3_0003, 0x4_0004];
    let at = |at: usize| bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map(number);
    let rate = at(4).map(f32::from_bits);
    at(0).is_some_and(|magic| magic & 0xfff0_ffff == 0xa364 && (1..5).contains(&(magic >> 16)))
        && rate.is_some_and(|rate| RATES.contains(&(rate as u32)))
        && at(8).is_some_and(|channels| (1..=64).contains(&channels))
        && at(12).is_some_and(|coding| CODINGS.contains(&coding))
}

impl Joint {
    /// The format of a file that begins like this, if joined files of it can be told.
    pub fn of(begin: &[u8]) -> Option<Joint> {
        let all = [
            Joint::Flac,
            Joint::Matroska,
            Joint::Aiff,
            Joint::Amr,
            Joint::Au,
            Joint::Flash,
            Joint::Voc,
            Joint::Wave,
            Joint::Wave64,
            Joint::IrcamLittle,
            Joint::IrcamBig,
        ];
        let ogg = || Some(Joint::Ogg).filter(|joint| joint.begins(begin) && scan::has_other_streams(begin));
        let is_of = |joint: &Joint| match joint {
            Joint::IrcamLittle | Joint::IrcamBig => joint.begins(begin),
            _ => begin.starts_with(joint.magic()),
        };
        all.into_iter().find(is_of).or_else(ogg)
    }

    fn magic(self) -> &'static [u8] {
        match self {
            Joint::Flac => b"fLaC",
            Joint::Matroska => b"\x1a\x45\xdf\xa3",
            Joint::Aiff => b"FORM",
            Joint::Amr => b"#!AMR",
            Joint::Au => b".snd",
            Joint::Flash => b"FLV\x01",
            Joint::Voc => b"Creative Voice File\x1a",
            Joint::Wave => b"RIFF",
            Joint::IrcamLittle => b"\x64\xa3",
            Joint::IrcamBig => b"\0",
            // The first page of a stream.
            Joint::Ogg => b"OggS\0\x02\0\0\0\0\0\0\0\0",
            Joint::Wave64 => b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\0\0",
        }
    }

    /// True if a file begins here; the bytes have the magic, and are `LONGEST` or reach to the end of the input.
    fn begins(self, bytes: &[u8]) -> bool {
        match self {
            // A block STREAMINFO of 34 bytes.
            Joint::Flac => matches!(bytes, [_, _, _, _, 0 | 0x80, 0, 0, 34, ..]),
            Joint::Matroska => {
                bytes.windows(4).any(|name| name == b"webm" || name == b"matr")
                    && bytes.windows(2).any(|id| id == [0x42, 0x82])
            }
            Joint::Aiff => matches!(bytes.get(8..12), Some(b"AIFF" | b"AIFC")),
            Joint::Amr => bytes.starts_with(b"#!AMR\n") || bytes.starts_with(b"#!AMR-WB\n"),
            Joint::Au => {
                let number = |at: usize| {
                    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
                    four.map_or(0, u32::from_be_bytes)
                };
                // Header, coding, rate and channels.
                (24..1 << 16).contains(&number(4))
                    && (1..=27).contains(&number(12))
                    && RATES.contains(&number(16))
                    && (1..=64).contains(&number(20))
            }
            // No sound nor pictures in other bits, a header of 9 bytes, and no tag before.
            Joint::Flash => matches!(bytes, [_, _, _, _, 0 | 1 | 4 | 5, 0, 0, 0, 9, 0, 0, 0, 0, ..]),
            Joint::Voc => true,
            Joint::Wave => bytes.get(8..12) == Some(b"WAVE"),
            Joint::Wave64 => true,
            Joint::IrcamLittle => is_ircam(bytes, u32::from_le_bytes),
            Joint::IrcamBig => is_ircam(bytes, u32::from_be_bytes),
            // (ffmpeg decodes the first of several such files only.)
            Joint::Ogg => bytes.starts_with(self.magic()),
        }
    }

    /// The smallest number of bytes of a file.
    pub fn least(self) -> u64 {
        match self {
            // (First pages of several streams in one file come one after the other.)
            Joint::Ogg => 1024,
            _ => 1,
        }
    }

    /// Looks from byte `from` on. `all` is true if no bytes follow these.
    pub fn find(self, bytes: &[u8], from: usize, all: bool) -> Found {
        let magic = self.magic();
        let first = |at: usize| bytes[at..].iter().position(|&byte| byte == magic[0]).map(|next| at + next);
        let mut next = if from < bytes.len() { first(from) } else { None };
        while let Some(at) = next {
            next = first(at + 1);
            let there = &bytes[at..];
            let short = there.len() < magic.len();
            if short && magic.starts_with(there) && !all {
                return Found::PerhapsAt(at);
            }
            if there.starts_with(magic) {
                if there.len() < LONGEST && !all {
                    return Found::PerhapsAt(at);
                }
                if self.begins(&there[..there.len().min(LONGEST)]) {
                    return Found::At(at);
                }
            }
        }
        Found::Nowhere
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_beginning_is_found_however_the_bytes_come() {
        let mut file = b"xxfLaCxxx".to_vec();
        let at = file.len();
        file.extend(b"fLaC\0\0\0\x22");
        file.extend([7; 80]);
        assert_eq!(Joint::Flac.find(&file, 0, false), Found::At(at));
        assert_eq!(Joint::Flac.find(&file, at + 1, true), Found::Nowhere);
        for end in at + 1..at + LONGEST {
            assert_eq!(Joint::Flac.find(&file[..end], 3, false), Found::PerhapsAt(at), "{end}");
        }
        assert_eq!(Joint::Aiff.find(b"FORM1234AIFF", 0, true), Found::At(0));
        assert_eq!(Joint::Aiff.find(b"FORM1234ABCD", 0, true), Found::Nowhere);
        assert_eq!(Joint::Wave.find(b"RRIFF1234WAVE", 0, true), Found::At(1));
        let au = |rate: u8| [&b"..snd\0\0\0\x18\0\0\0\0\0\0\0\x03\0\0"[..], &[rate, 0, 0, 0, 0, 1]].concat();
        assert_eq!(Joint::Au.find(&au(0x3e), 0, true), Found::At(1));
        assert_eq!(Joint::Au.find(&au(0), 0, true), Found::Nowhere);
        let ircam = |coding: u8| [0x64, 0xa3, 1, 0, 0, 0, 0x7a, 0x46, 1, 0, 0, 0, coding, 0, 0, 0];
        let turned = |bytes: [u8; 16]| -> Vec<u8> {
            bytes.chunks_exact(4).flat_map(|four| four.iter().rev().copied()).collect()
        };
        assert_eq!(Joint::of(&ircam(2)), Some(Joint::IrcamLittle));
        assert_eq!(Joint::of(&turned(ircam(2))), Some(Joint::IrcamBig));
        assert_eq!(Joint::of(b"\0\0\0\0\0\0\0\0"), None);
        let twice = [&[0; 100][..], &ircam(99), &ircam(4)].concat();
        assert_eq!(Joint::IrcamLittle.find(&twice, 0, true), Found::At(116));
        let twice = [&[0; 100][..], &turned(ircam(99)), &turned(ircam(4))].concat();
        assert_eq!(Joint::IrcamBig.find(&twice, 0, true), Found::At(116));
    }
}
