//! The default tracks of Matroska and WebM files.

const SEGMENT: u64 = 0x1853_8067;
const TRACKS: u64 = 0x1654_ae6b;
const ENTRY: u64 = 0xae;
const NUMBER: u64 = 0xd7;
const DEFAULT: u64 = 0x88;

/// A number with its length in the first byte, and the bytes behind it.
fn number(bytes: &[u8], keep_mark: bool) -> Option<(u64, &[u8])> {
    let first = *bytes.first()?;
    let length = first.leading_zeros() as usize + 1;
    let value =
        bytes.get(1..length)?.iter().fold(u64::from(first), |value, &byte| value << 8 | u64::from(byte));
    let value = if keep_mark { value } else { value & ((1 << (7 * length)) - 1) };
    Some((value, &bytes[length..]))
}

/// The elements within some bytes; the last one may be cut.
fn elements(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let mut all = Vec::new();
    while let Some((id, rest)) = number(bytes, true) {
        let Some((size, rest)) = number(rest, false) else { break };
        let size = usize::try_from(size).unwrap_or(usize::MAX).min(rest.len());
        all.push((id, &rest[..size]));
        bytes = &rest[size..];
    }
    all
}

fn within<'b>(all: &[(u64, &'b [u8])], wanted: u64) -> Option<&'b [u8]> {
    all.iter().find(|(id, _)| *id == wanted).map(|(_, content)| *content)
}

/// The numbers of tracks that are not marked as default, from the beginning of a file.
pub(crate) fn not_default(begin: &[u8]) -> Vec<u32> {
    let tracks = || within(&elements(within(&elements(begin), SEGMENT)?), TRACKS);
    let value = |content: &[u8]| content.iter().fold(0, |value: u64, &byte| value << 8 | u64::from(byte));
    let mut numbers = Vec::new();
    for (id, entry) in elements(tracks().unwrap_or_default()) {
        let entry = elements(entry);
        // (Without the element the track is a default one.)
        if id == ENTRY && within(&entry, DEFAULT).is_some_and(|flag| value(flag) == 0) {
            numbers.extend(within(&entry, NUMBER).map(|number| value(number) as u32));
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracks_without_the_flag_are_default_ones() {
        let element = |id: &[u8], content: &[u8]| [id, &[0x80 | content.len() as u8], content].concat();
        let entry = |inner: &[&[u8]]| element(&[0xae], &inner.concat());
        let tracks = [entry(&[&[0xd7, 0x81, 1], &[0x88, 0x81, 0]]), entry(&[&[0xd7, 0x81, 2]])].concat();
        let segment = element(&[0x18, 0x53, 0x80, 0x67], &element(&[0x16, 0x54, 0xae, 0x6b], &tracks));
        let file = [element(&[0x1a, 0x45, 0xdf, 0xa3], &[]), segment].concat();
        assert_eq!(not_default(&file), [1]);
        assert_eq!(not_default(&file[..file.len() - 5]), [1]);
        assert_eq!(not_default(b"abc"), [] as [u32; 0]);
    }
}
