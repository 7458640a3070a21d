//! Ogg: pages, their checksums, numbers and positions (RFC 3533), and the mark of the last one.

use super::{Finding, Hole, Pending, Scan};

const MARK: &[u8] = b"OggS";
const HEADER: usize = 27;
/// Flags of the first and the last page of a stream.
const FIRST: u8 = 2;
const LAST: u8 = 4;
/// Longest page, in seconds. A stream with a later first position is a part of a longer one.
const LONGEST: f64 = 60.0;

/// Remainders of the polynomial x^32 + x^26 + … + 1, the high bit first.
const REMAINDERS: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut sum, mut bit) = ((byte as u32) << 24, 0);
        while bit < 8 {
            sum = if sum & 0x8000_0000 == 0 { sum << 1 } else { sum << 1 ^ 0x04c1_1db7 };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
};

/// The checksum of a page; its own four bytes count as zeros.
fn checksum(page: &[u8]) -> u32 {
    let add = |sum: u32, byte: u8| sum << 8 ^ REMAINDERS[(sum >> 24 ^ u32::from(byte)) as usize];
    let bytes = page.iter().enumerate().map(|(at, &byte)| if (22..26).contains(&at) { 0 } else { byte });
    bytes.fold(0, add)
}

/// The header of a page.
struct Page {
    flags: u8,
    /// The end of its last packet, in samples; -1 if no packet ends in it.
    position: i64,
    serial: u32,
    number: u32,
    checksum: u32,
    /// Bytes before its packets, and in all.
    header: usize,
    size: usize,
}

impl Page {
    /// Reads the header. `None` if it is not whole.
    fn read(bytes: &[u8]) -> Option<Page> {
        let header = HEADER + usize::from(*bytes.get(HEADER - 1)?);
        let body: usize = bytes.get(HEADER..header)?.iter().map(|&size| usize::from(size)).sum();
        let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        Some(Page {
            flags: bytes[5],
            position: i64::from_le_bytes(bytes.get(6..14)?.try_into().ok()?),
            serial: number(14)?,
            number: number(18)?,
            checksum: number(22)?,
            header,
            size: header + body,
        })
    }
}

/// Rate of positions, in Hz, and position of the first sample, by the first packet.
fn clock(packet: &[u8]) -> Option<(u32, i64)> {
    let le32 = |at: usize| Some(u32::from_le_bytes(packet.get(at..at + 4)?.try_into().ok()?));
    let (rate, origin) = match packet {
        [1, b'v', b'o', b'r', b'b', b'i', b's', ..] => (le32(12)?, 0),
        [b'O', b'p', b'u', b's', b'H', b'e', b'a', b'd', _, _, a, b, ..] => {
            (48_000, u16::from_le_bytes([*a, *b]).into())
        }
        [0x7f, b'F', b'L', b'A', b'C', ..] => {
            (u32::from_be_bytes(packet.get(27..31)?.try_into().ok()?) >> 12, 0)
        }
        [b'S', b'p', b'e', b'e', b'x', b' ', ..] => (le32(36)?, 0),
        _ => return None,
    };
    (rate > 0).then_some((rate, origin))
}

/// True if a file that begins like this has more than one stream of Vorbis or FLAC, beside the notes of Skeleton: several of these,
/// pictures, Opus, Speex. The first pages of all streams come first.
pub(super) fn has_others(mut begin: &[u8]) -> bool {
    let mut streams = 0;
    while let Some(page) = Page::read(begin).filter(|page| begin.starts_with(MARK) && page.flags & FIRST != 0)
    {
        let packet = &begin[page.header.min(begin.len())..];
        let is_known = [&b"\x01vorbis"[..], b"\x7fFLAC"].iter().any(|name| packet.starts_with(name));
        if !is_known && !packet.starts_with(b"fishead") {
            return true;
        }
        streams += u32::from(is_known);
        begin = &begin[page.size.min(begin.len())..];
    }
    streams > 1
}

/// A stream, from its first page on.
struct Stream {
    serial: u32,
    /// `None` if it is no sound, or of a kind that is not known.
    clock: Option<(u32, i64)>,
    /// The number of its last page.
    number: u32,
    /// The last position.
    position: i64,
    ended: bool,
}

impl Stream {
    /// Seconds of sound up to this position.
    fn seconds(&self, position: i64) -> Option<f64> {
        let (rate, origin) = self.clock?;
        Some(position.saturating_sub(origin).max(0) as f64 / f64::from(rate))
    }
}

#[derive(Default)]
pub(super) struct Ogg {
    pending: Pending,
    streams: Vec<Stream>,
    /// Pages that are not there, have another checksum, or came again.
    lost: u64,
    damaged: u64,
    twice: u64,
    /// Bytes that are no page.
    junk: u64,
    /// True if the last page is not whole.
    within: bool,
    /// True if a stream began again before its last page.
    unended: bool,
    /// True if the seconds of the whole cannot be told.
    untold: bool,
    /// Seconds of sound before the first bad place.
    hole: Option<f64>,
}

impl Ogg {
    /// Takes a page or bytes that are no page. False if more bytes are needed; with `all` none come.
    fn step(&mut self, all: bool) -> bool {
        let there = self.pending.bytes();
        if there.is_empty() || (there.len() < MARK.len() && !all) {
            return false;
        }
        if !there.starts_with(MARK) {
            let next = there.windows(4).position(|bytes| bytes == MARK);
            let next = next.unwrap_or(if all { there.len() } else { there.len() - 3 });
            self.no_page(next);
            return true;
        }
        let page = Page::read(there).filter(|page| page.size <= there.len());
        let Some(page) = page else {
            if all {
                self.within = true;
                self.no_page(MARK.len());
            }
            return all;
        };
        if checksum(&there[..page.size]) == page.checksum {
            let clock = clock(&there[page.header..page.size]);
            self.within = false;
            self.page(&page, clock);
            self.pending.skip(page.size as u64);
            return true;
        }
        let behind = &there[page.size..];
        if behind.len() < MARK.len() && !all {
            return false;
        }
        let is_alone = behind.is_empty() || behind.starts_with(MARK);
        if self.damaged_page(&page) && is_alone {
            self.pending.skip(page.size as u64);
        } else {
            self.no_page(MARK.len());
        }
        true
    }

    fn no_page(&mut self, bytes: usize) {
        let before = self.seconds();
        self.hole.get_or_insert(before);
        self.junk += bytes as u64;
        self.pending.skip(bytes as u64);
    }

    /// Seconds of sound so far.
    fn seconds(&self) -> f64 {
        self.streams.iter().filter_map(|stream| stream.seconds(stream.position)).sum()
    }

    fn page(&mut self, page: &Page, clock: Option<(u32, i64)>) {
        let last = self.streams.iter().rposition(|stream| stream.serial == page.serial);
        if page.flags & FIRST != 0 || last.is_none() {
            self.unended |= last.is_some_and(|last| !self.streams[last].ended);
            // Sound beside other sound, or without a beginning.
            let begun = |stream: &Stream| stream.clock.is_some() && !stream.ended && stream.position <= 0;
            self.untold |= page.flags & FIRST == 0 || (clock.is_some() && self.streams.iter().any(begun));
            self.streams.push(Stream {
                serial: page.serial,
                clock,
                number: page.number,
                position: page.position.max(0),
                ended: page.flags & LAST != 0,
            });
            return;
        }
        let before = self.seconds();
        let Some(stream) = last.map(|last| &mut self.streams[last]) else { return };
        let next = stream.number.wrapping_add(1);
        if page.number > next {
            self.lost += u64::from(page.number - next);
            self.hole.get_or_insert(before);
        } else if page.number < next {
            self.twice += 1;
            self.hole.get_or_insert(before);
        }
        if stream.position <= 0 {
            self.untold |= stream.seconds(page.position).is_some_and(|seconds| seconds > LONGEST);
        }
        stream.number = page.number;
        stream.position = stream.position.max(page.position);
        stream.ended = page.flags & LAST != 0;
    }

    /// Notes a page with another checksum. False if its header does not fit the pages before.
    fn damaged_page(&mut self, page: &Page) -> bool {
        let before = self.seconds();
        let follows = |stream: &&mut Stream| {
            stream.serial == page.serial && stream.number.checked_add(1) == Some(page.number)
        };
        let Some(stream) = self.streams.iter_mut().rev().find(follows) else { return false };
        self.damaged += 1;
        self.hole.get_or_insert(before);
        stream.number = page.number;
        let seconds =
            stream.seconds(page.position).unwrap_or(0.0) - stream.seconds(stream.position).unwrap_or(0.0);
        if (0.0..LONGEST).contains(&seconds) {
            stream.position = page.position;
            stream.ended = page.flags & LAST != 0;
        }
        true
    }

    /// Says how many pages and bytes are not as they should be.
    fn reason(&self) -> Option<String> {
        let pages = |count: u64, fault: &str| match count {
            0 => None,
            1 => Some(format!("1 page of it is {fault}")),
            count => Some(format!("{count} pages of it are {fault}")),
        };
        let all = [
            pages(self.lost, "not there"),
            pages(self.damaged, "damaged"),
            pages(self.twice, "there twice"),
            (self.junk > 0).then(|| format!("{} bytes of it are no page", self.junk)),
        ];
        Some(all.into_iter().flatten().collect::<Vec<_>>().join(", ")).filter(|reason| !reason.is_empty())
    }
}

impl Scan for Ogg {
    fn feed(&mut self, bytes: &[u8]) {
        self.pending.push(bytes);
        while self.step(false) {}
    }

    fn finish(&mut self) -> Option<Finding> {
        let owed = self.pending.owed() > 0;
        while self.step(true) {}
        let reason = self.reason();
        let unended = self.unended || self.streams.iter().any(|stream| !stream.ended);
        if owed || self.within || unended {
            let within = owed || self.within;
            let end = if within { "the file ends within a page" } else { "its last page is not there" };
            // (Bytes of a page that is not whole are no fault of their own.)
            let others = reason.filter(|_| self.lost + self.damaged + self.twice > 0);
            let reason = others.map_or(end.to_owned(), |others| format!("{end}, {others}"));
            return Some(Finding::Cut { bytes: None, reason });
        }
        let hole = self.hole.filter(|_| !self.untold).map(|at| Hole { at, whole: self.seconds() });
        reason.map(|reason| Finding::Broken { reason, hole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with one packet of 100 bytes.
    fn page(flags: u8, position: i64, number: u32) -> Vec<u8> {
        let mut packet = vec![number as u8; 100];
        if flags & FIRST != 0 {
            packet[..16].copy_from_slice(b"\x01vorbis\0\0\0\0\x01\x40\x1f\0\0");
        }
        let mut page = [MARK, &[0, flags], &position.to_le_bytes(), &7u32.to_le_bytes()].concat();
        page.extend([&number.to_le_bytes()[..], &[0; 4], &[1, 100], &packet].concat());
        let sum = checksum(&page);
        page[22..26].copy_from_slice(&sum.to_le_bytes());
        page
    }

    /// Eight pages: the header and seven seconds.
    fn stream() -> Vec<Vec<u8>> {
        let flags = |n: u32| {
            if n == 0 {
                FIRST
            } else if n == 7 {
                LAST
            } else {
                0
            }
        };
        (0..8).map(|n| page(flags(n), 8000 * i64::from(n), n)).collect()
    }

    fn finding(bytes: &[u8], piece: usize) -> Option<Finding> {
        let mut scan = Ogg::default();
        bytes.chunks(piece).for_each(|bytes| scan.feed(bytes));
        scan.finish()
    }

    #[test]
    fn streams_of_other_codings() {
        let first = |packet: &[u8]| {
            let mut page = page(FIRST, 0, 0);
            page[28..28 + packet.len()].copy_from_slice(packet);
            page
        };
        let all =
            |packets: &[&[u8]]| -> Vec<u8> { packets.iter().flat_map(|packet| first(packet)).collect() };
        assert!(!has_others(&stream().concat()));
        assert!(!has_others(&all(&[b"fishead", b"\x01vorbis"])));
        for other in [&b"\x80theora"[..], b"OpusHead", b"Speex   ", b"\x7fFLAC"] {
            assert!(has_others(&all(&[b"\x01vorbis", other])));
        }
        // (Only the first pages count.)
        assert!(!has_others(&[stream().concat(), first(b"OpusHead")].concat()));
        assert!(!has_others(b"OggS"));
    }

    /// The checksum of an empty page of libogg (a stream's end).
    #[test]
    fn the_checksum_is_that_of_libogg() {
        let mut page =
            [MARK, &[0, 4], &0i64.to_le_bytes(), &1u32.to_le_bytes(), &2u32.to_le_bytes()].concat();
        page.extend([0; 4]);
        page.push(0);
        // Bit by bit.
        let slow = page.iter().fold(0u32, |sum, &byte| {
            (0..8).fold(sum ^ u32::from(byte) << 24, |sum, _| (sum << 1) ^ ((sum >> 31) * 0x04c1_1db7))
        });
        assert_eq!(checksum(&page), slow);
        let chirp = include_bytes!("../../tests/data/chirp.ogg");
        let first = Page::read(chirp).unwrap();
        assert_eq!(checksum(&chirp[..first.size]), first.checksum);
        assert_eq!(clock(&chirp[first.header..]), Some((16_000, 0)));
    }

    #[test]
    fn each_bad_page_has_a_place_and_the_whole_its_length() {
        let pages = stream();
        for piece in [1, 13, 4096] {
            assert_eq!(finding(&pages.concat(), piece), None);
            assert_eq!(finding(&[pages.concat(), pages.concat()].concat(), piece), None);
            for bad in 1..7 {
                let whole = |at: f64| Some(Hole { at, whole: 7.0 });
                let before = (bad - 1) as f64;
                let with = |page: Vec<u8>| {
                    let mut pages = pages.clone();
                    pages[bad] = page;
                    finding(&pages.concat(), piece)
                };
                let broken =
                    |reason: &str| Some(Finding::Broken { reason: reason.to_owned(), hole: whole(before) });
                assert_eq!(with(Vec::new()), broken("1 page of it is not there"));
                assert_eq!(
                    with(vec![0; 128]),
                    broken("1 page of it is not there, 128 bytes of it are no page")
                );
                let mut body = pages[bad].clone();
                body[60] ^= 1;
                assert_eq!(with(body), broken("1 page of it is damaged"));
                let twice = [pages[bad].clone(), pages[bad].clone()].concat();
                let hole = Some(Hole { at: bad as f64, whole: 7.0 });
                let reason = "1 page of it is there twice".to_owned();
                assert_eq!(with(twice), Some(Finding::Broken { reason, hole }));
            }
        }
    }

    #[test]
    fn a_stream_without_its_last_page_is_cut() {
        let pages = stream();
        let cut = |bytes: &[u8], words: &str| match finding(bytes, 50) {
            Some(Finding::Cut { reason, .. }) => assert_eq!(reason, words),
            other => panic!("{other:?}"),
        };
        let all = pages.concat();
        cut(&pages[..7].concat(), "its last page is not there");
        cut(&all[..all.len() - 20], "the file ends within a page");
        cut(&[&all[..all.len() - 128], &[0; 128]].concat(), "its last page is not there");
        // Of the first of two joined files.
        cut(&[pages[..7].concat(), all.clone()].concat(), "its last page is not there");
        // A damaged last page tells the length.
        let mut damaged = all.clone();
        *damaged.last_mut().unwrap() ^= 1;
        let hole = Some(Hole { at: 6.0, whole: 7.0 });
        let reason = "1 page of it is damaged".to_owned();
        assert_eq!(finding(&damaged, 50), Some(Finding::Broken { reason, hole }));
    }

    /// The length of a part of a longer stream is not known.
    #[test]
    fn a_part_of_a_longer_stream_has_no_length() {
        let later =
            |n: u32| page(if n == 0 { FIRST } else { LAST * u8::from(n == 9) }, 8000 * i64::from(n) * 100, n);
        let bytes: Vec<u8> = [0, 5, 6, 7, 8, 9].into_iter().flat_map(later).collect();
        let reason = "4 pages of it are not there".to_owned();
        assert_eq!(finding(&bytes, 50), Some(Finding::Broken { reason, hole: None }));
    }
}
