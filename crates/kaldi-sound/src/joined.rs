//! Files one behind the other, as `cat` makes them: finds the beginning of the next one.

/// A format whose files begin with bytes that do not occur within them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joint {
    Flac,
    Matroska,
    Aiff,
    Amr,
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

impl Joint {
    /// The format of a file that begins like this, if joined files of it can be told.
    pub fn of(begin: &[u8]) -> Option<Joint> {
        let all = [Joint::Flac, Joint::Matroska, Joint::Aiff, Joint::Amr];
        all.into_iter().find(|joint| begin.starts_with(joint.magic()))
    }

    fn magic(self) -> &'static [u8] {
        match self {
            Joint::Flac => b"fLaC",
            Joint::Matroska => b"\x1a\x45\xdf\xa3",
            Joint::Aiff => b"FORM",
            Joint::Amr => b"#!AMR",
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
        }
    }

    /// Looks from byte `from` on. `all` is true if no bytes follow these.
    pub fn find(self, bytes: &[u8], from: usize, all: bool) -> Found {
        let magic = self.magic();
        for at in from..bytes.len() {
            let there = &bytes[at..];
            if there[0] != magic[0] {
                continue;
            }
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
    }
}
