//! Reads TextGrids of Praat's binary form. All numbers have the higher byte first. Names of classes have a byte for their length,
//! texts two: of ASCII, or, behind the length -1 and a second one in characters, of UTF-16.

use super::grid::{Result, Source, grid, short};
use super::{Malformed, Place, TextGrid};

/// The beginning of the files.
pub(super) const MAGIC: &[u8] = b"ooBinaryFile";

/// The bytes of a file, of which `at` were read.
struct Bytes<'b> {
    all: &'b [u8],
    at: usize,
}

impl Bytes<'_> {
    fn take(&mut self, count: usize, what: &str) -> Result<&[u8]> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.all.len());
        let Some(end) = end else {
            let message = format!("expected {what}, found the end of the file");
            return Err(Malformed { place: Place::Byte(self.at), message, is_cut: true });
        };
        let taken = &self.all[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    fn ascii(&mut self, length: usize, what: &str) -> Result<String> {
        let bytes = self.take(length, what)?.to_vec();
        match String::from_utf8(bytes) {
            Ok(text) if text.is_ascii() => Ok(text),
            _ => self.fault(format!("expected {what} in ASCII")),
        }
    }
}

impl Source for Bytes<'_> {
    fn fault<T>(&self, message: String) -> Result<T> {
        Err(Malformed { place: Place::Byte(self.at), message, is_cut: false })
    }

    fn number(&mut self, what: &str) -> Result<f64> {
        let number = f64::from_be_bytes(self.array(what)?);
        match number.is_finite() {
            true => Ok(number),
            false => self.fault(format!("expected {what}, found {number}")),
        }
    }

    fn text(&mut self, what: &str) -> Result<String> {
        let length = u16::from_be_bytes(self.array(what)?);
        if length != u16::MAX {
            return self.ascii(length.into(), what);
        }
        // (Characters are counted, of which some have two units.)
        let characters = u16::from_be_bytes(self.array(what)?);
        let mut text = String::new();
        for _ in 0..characters {
            let first = u16::from_be_bytes(self.array(what)?);
            let mut units = vec![first];
            if (0xd800..0xdc00).contains(&first) {
                units.push(u16::from_be_bytes(self.array(what)?));
            }
            match char::decode_utf16(units).next() {
                Some(Ok(character)) => text.push(character),
                _ => return self.fault(format!("expected {what} in UTF-16")),
            }
        }
        Ok(text)
    }

    fn class(&mut self, what: &str) -> Result<String> {
        let [length] = self.array(what)?;
        self.ascii(length.into(), what)
    }

    fn count(&mut self, what: &str) -> Result<usize> {
        let number = i32::from_be_bytes(self.array(what)?);
        match usize::try_from(number) {
            Ok(count) if count <= 1_000_000_000 => Ok(count),
            _ => self.fault(format!("expected {what}, found {number}")),
        }
    }

    fn has_tiers(&mut self) -> Result<bool> {
        match self.array("whether there are tiers")? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => self.fault(format!("expected 1 or 0, whether there are tiers, found {other}")),
        }
    }
}

/// Reads a whole file.
pub(super) fn parse(all: &[u8]) -> Result<TextGrid> {
    let mut bytes = Bytes { all, at: 0 };
    let begin = bytes.take(MAGIC.len(), "\"ooBinaryFile\"")?.to_vec();
    if begin != MAGIC {
        return bytes.fault(format!(
            "expected \"ooBinaryFile\", found \"{}\"",
            short(&begin.escape_ascii().to_string())
        ));
    }
    grid(&mut bytes)
}

#[cfg(test)]
mod tests {
    use super::super::{Interval, Items, Point, Tier};
    use super::*;

    /// As Praat 6.1.38 writes it.
    const FILE: &[u8] = b"ooBinaryFile\x08TextGrid\0\0\0\0\0\0\0\0@\x04\0\0\0\0\0\0\x01\0\0\0\x02\x0cIntervalTier\0\x04Anna\
        \0\0\0\0\0\0\0\0@\x04\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0?\xf4\0\0\0\0\0\0\0\x0fshe said \"no\" 3\
        ?\xf4\0\0\0\0\0\0@\x04\0\0\0\0\0\0\xff\xff\0\x06\0m\0\xf3\0s\x03\xce\0 \xd84\xdd\x1e\x08TextTier\0\x04bell\
        \0\0\0\0\0\0\0\0@\x04\0\0\0\0\0\0\0\0\0\x01?\xe0\0\0\0\0\0\0\0\x01x";

    #[test]
    fn a_file_of_praat() {
        let interval = |begin, end, text: &str| Interval { begin, end, text: text.to_owned() };
        let tier = |name: &str, items| Tier { name: name.to_owned(), begin: 0.0, end: 2.5, items };
        let intervals = vec![interval(0.0, 1.25, "she said \"no\" 3"), interval(1.25, 2.5, "mósώ 𝄞")];
        let points = vec![Point { time: 0.5, mark: "x".to_owned() }];
        let tiers = vec![tier("Anna", Items::Intervals(intervals)), tier("bell", Items::Points(points))];
        assert_eq!(parse(FILE), Ok(TextGrid { begin: 0.0, end: 2.5, tiers }));
    }

    #[test]
    fn faults_have_their_byte() {
        for end in 0..FILE.len() {
            let fault = parse(&FILE[..end]).unwrap_err();
            assert!(fault.is_cut && matches!(fault.place, Place::Byte(at) if at <= end), "{end}: {fault}");
        }
        let fault = |at: usize, byte: u8| {
            let mut bytes = FILE.to_vec();
            bytes[at] = byte;
            parse(&bytes).unwrap_err()
        };
        let place = |text: &[u8]| FILE.windows(text.len()).position(|part| part == text).unwrap();
        let message = fault(place(b"TextGrid"), b'P').to_string();
        assert_eq!(message, "byte 21: expected an object of the class \"TextGrid\", found \"PextGrid\"");
        assert!(!fault(place(b"she"), 0xe9).is_cut);
        assert!(fault(place(b"Anna") - 2, 0x7f).is_cut);
        let tiers = place(b"\x0cIntervalTier") - 4;
        assert!(fault(tiers, 0xff).to_string().contains("expected the number of tiers, found -"));
        assert!(fault(tiers - 1, 7).to_string().contains("whether there are tiers, found 7"));
        // The sign of the end.
        assert!(fault(29, 0xc0).to_string().contains("the TextGrid ends at -2.5, before it begins at 0"));
    }
}
