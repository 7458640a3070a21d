//! MPEG streams one behind the other: the place from which on the sound is in other streams than before, which ffmpeg would leave out.

use crate::scan::{Packet, packet};

/// Bytes of a packet of a transport stream, and of one with a time stamp in front (`.m2ts`).
const PACKET: usize = 188;
const STAMPED: usize = 192;
const SYNC: u8 = 0x47;
/// Bytes that are searched for the description of the streams, or for the first sound, where another file may begin.
const AHEAD: usize = 1 << 19;

/// The next bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// So many belong to this file; some may not be there yet.
    Bytes(u64),
    /// Another file begins.
    Begin,
    /// More bytes are needed to tell.
    More,
    /// They are no packet.
    Lost,
}

/// The streams of sound in a file.
pub(crate) struct Streams {
    /// Bytes of a packet of a transport stream; `None` for a program stream.
    packet: Option<usize>,
    /// Streams of sound so far: numbers, and kinds or numbers within them.
    known: Vec<u32>,
    /// The last time of a program stream, in ticks of 90 kHz.
    time: u64,
}

impl Streams {
    /// Those of a file that begins like this, if it is an MPEG stream.
    pub fn of(begin: &[u8]) -> Option<Streams> {
        let is_stream =
            |size: usize| (0..3).all(|number| begin.get(size - PACKET + number * size) == Some(&SYNC));
        let packet = match begin {
            [0, 0, 1, 0xba, ..] => None,
            _ => Some([PACKET, STAMPED].into_iter().find(|&size| is_stream(size))?),
        };
        Some(Streams { packet, known: Vec::new(), time: 0 })
    }

    /// Looks at bytes at the beginning of a packet. `all` is true if no bytes follow these.
    pub fn next(&mut self, bytes: &[u8], all: bool) -> Next {
        match self.packet {
            Some(size) => self.of_transport(bytes, size, all || bytes.len() >= AHEAD),
            None => self.of_program(bytes, all || bytes.len() >= AHEAD),
        }
    }

    fn of_transport(&mut self, bytes: &[u8], size: usize, all: bool) -> Next {
        let Some(first) = bytes.get(size - PACKET..size) else { return Next::More };
        if first[0] != SYNC {
            return Next::Lost;
        }
        let table = Table::of(first).filter(|table| table.number == 0);
        let Some(map) = table.and_then(|table| table.only_program()) else { return Next::Bytes(size as u64) };
        let mut packets = bytes[size - PACKET..].chunks(size).filter(|packet| packet.len() >= PACKET);
        let Some(sound) =
            packets.find_map(|packet| Table::of(packet).filter(|table| table.number == map)?.sound())
        else {
            return if all { Next::Bytes(size as u64) } else { Next::More };
        };
        if !self.known.is_empty() && !sound.is_empty() && !sound.iter().any(|one| self.known.contains(one)) {
            return Next::Begin;
        }
        self.know(&sound);
        Next::Bytes(size as u64)
    }

    fn know(&mut self, sound: &[u32]) {
        for one in sound {
            if !self.known.contains(one) {
                self.known.push(*one);
            }
        }
    }

    fn of_program(&mut self, bytes: &[u8], all: bool) -> Next {
        let size = match packet(bytes) {
            Packet::Bytes(size) => size,
            Packet::Unknown => return Next::More,
            Packet::None => return Next::Lost,
        };
        if let Some(id) = sound_of(bytes) {
            let Some(id) = id else { return if all { Next::Lost } else { Next::More } };
            self.know(&[id]);
        }
        let Some(time) = clock(bytes) else { return Next::Bytes(size) };
        if time < self.time && !self.known.is_empty() {
            match first_sound(bytes) {
                Some(id) if !self.known.contains(&id) => return Next::Begin,
                None if !all => return Next::More,
                _ => {}
            }
        }
        self.time = time;
        Next::Bytes(size)
    }
}

/// The first stream of sound in some bytes of a program stream.
fn first_sound(mut bytes: &[u8]) -> Option<u32> {
    while let Packet::Bytes(size) = packet(bytes) {
        if let Some(id) = sound_of(bytes) {
            return id;
        }
        bytes = bytes.get(usize::try_from(size).ok()?..)?;
    }
    None
}

/// The stream of a packet of a program stream with sound; nothing within if more bytes are needed to tell.
fn sound_of(bytes: &[u8]) -> Option<Option<u32>> {
    match *bytes {
        [0, 0, 1, code @ 0xc0..=0xdf, ..] => Some(Some(u32::from(code) << 8)),
        // A private stream: its first byte is the number of sound within it, or of subtitles.
        [0, 0, 1, code @ 0xbd, ..] => match header(bytes).and_then(|size| bytes.get(size)) {
            None => Some(None),
            Some(&number @ 0x80..) => Some(Some(u32::from(code) << 8 | u32::from(number))),
            Some(_) => None,
        },
        _ => None,
    }
}

/// The bytes of the header of a packet (ISO/IEC 13818-1, 2.4.3.6, and 11172-1, 2.4.3.3). `None` if more are needed to tell.
fn header(bytes: &[u8]) -> Option<usize> {
    let stuffing = bytes.get(6..)?.iter().take_while(|&&byte| byte == 0xff).count();
    let at = 6 + stuffing;
    match bytes.get(at)? >> 6 {
        2 => Some(at + 3 + usize::from(*bytes.get(at + 2)?)),
        kind => {
            // The size of a buffer, then times.
            let at = at + if kind == 1 { 2 } else { 0 };
            Some(at + [1, 1, 5, 10].get(usize::from(bytes.get(at)? >> 4)).unwrap_or(&1))
        }
    }
}

/// The time of a pack header, in ticks of 90 kHz (ISO/IEC 13818-1, 2.5.3.3, and 11172-1, 2.4.3.2).
fn clock(bytes: &[u8]) -> Option<u64> {
    let [0, 0, 1, 0xba, b4, b5, b6, b7, b8, ..] = *bytes else { return None };
    let bits = [b4, b5, b6, b7, b8].iter().fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte));
    // Three parts with a mark behind each.
    let part = |shift: u32, width: u32| bits >> shift & ((1 << width) - 1);
    Some(match b4 >> 6 {
        1 => part(35, 3) << 30 | part(19, 15) << 15 | part(3, 15),
        _ => part(33, 3) << 30 | part(17, 15) << 15 | part(1, 15),
    })
}

/// A section of tables that begins in a packet of a transport stream.
struct Table<'b> {
    /// The number of the packets.
    number: u16,
    bytes: &'b [u8],
}

fn number(bytes: &[u8], at: usize, mask: u16) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]) & mask)
}

impl Table<'_> {
    /// The section at the beginning of a packet (ISO/IEC 13818-1, 2.4.3.2 and 2.4.4).
    fn of(packet: &[u8]) -> Option<Table<'_>> {
        let [SYNC, high, _, control, ..] = *packet else { return None };
        let packet = &packet[..PACKET.min(packet.len())];
        let begin = match control >> 4 & 3 {
            1 => 4,
            3 => 5 + usize::from(*packet.get(4)?),
            _ => return None,
        };
        let number_of_packet = number(packet, 1, 0x1fff)?;
        let at = begin + 1 + usize::from(*packet.get(begin)?);
        let length = number(packet, at + 1, 0x0fff)?;
        // (Without the checksum.)
        let end = at + 3 + usize::from(length).checked_sub(4)?;
        let bytes = packet.get(at..end)?;
        (high & 0x40 != 0).then_some(Table { number: number_of_packet, bytes })
    }

    /// The number of the packets with the description of the program, if there is one program.
    fn only_program(&self) -> Option<u16> {
        let rows = self.bytes.get(8..)?.chunks_exact(4).filter(|row| row[..2] != [0, 0]);
        let all: Vec<u16> = rows.filter_map(|row| number(row, 2, 0x1fff)).collect();
        match all[..] {
            [map] if self.bytes[0] == 0 => Some(map),
            _ => None,
        }
    }

    /// The streams of sound in the description of a program: numbers and codings.
    fn sound(&self) -> Option<Vec<u32>> {
        if self.bytes.first() != Some(&2) {
            return None;
        }
        let (mut at, mut all) = (12 + usize::from(number(self.bytes, 10, 0x0fff)?), Vec::new());
        while let Some(length) = number(self.bytes, at + 3, 0x0fff) {
            let kind = self.bytes[at];
            let notes = self.bytes.get(at + 5..at + 5 + usize::from(length))?;
            if is_sound(kind, notes) {
                all.push(u32::from(number(self.bytes, at + 1, 0x1fff)?) << 8 | u32::from(kind));
            }
            at += 5 + usize::from(length);
        }
        Some(all)
    }
}

/// True for sound, by the kind of a stream, or by its notes if it is private data.
fn is_sound(kind: u8, mut notes: &[u8]) -> bool {
    match kind {
        3 | 4 | 0x0f | 0x11 | 0x81..=0x87 | 0x8a => true,
        6 => {
            while let [tag, length, rest @ ..] = notes {
                if matches!(tag, 0x6a | 0x7a | 0x7b | 0x7c) || (*tag == 5 && rest.starts_with(b"Opus")) {
                    return true;
                }
                notes = rest.get(usize::from(*length)..).unwrap_or_default();
            }
            false
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes before another file.
    fn before_next(bytes: &[u8]) -> Option<usize> {
        let (mut streams, mut at) = (Streams::of(bytes).unwrap(), 0);
        while at < bytes.len() {
            match streams.next(&bytes[at..], true) {
                Next::Bytes(size) => at += size as usize,
                Next::Begin => return Some(at),
                other => panic!("{other:?} at {at}"),
            }
        }
        None
    }

    /// A pack of MPEG 2 or 1 at a time of 90 kHz below 2^15, with a packet of a stream.
    fn pack(second: bool, time: u16, stream: &[u8]) -> Vec<u8> {
        let low = u64::from(time);
        let clock = match second {
            true => (0x44 << 40 | 1 << 26 | low << 11 | 1 << 10 | 1) << 16,
            false => (0x21 << 32 | 1 << 16 | low << 1 | 1) << 24,
        };
        let mut bytes = [&[0, 0, 1, 0xba][..], &clock.to_be_bytes()].concat();
        if second {
            bytes.extend([3, 0xf8]);
        }
        let head: &[u8] = if second { &[0x80, 0, 0] } else { &[0xff, 0x40, 0x20, 0x0f] };
        let content = [head, &stream[1..], &[7; 20]].concat();
        bytes.extend([0, 0, 1, stream[0], 0, content.len() as u8]);
        bytes.extend(content);
        bytes
    }

    #[test]
    fn program_streams_with_other_sound_are_told_apart() {
        for second in [true, false] {
            let file = |stream: &[u8]| -> Vec<u8> {
                (10..20).flat_map(|time| pack(second, 100 * time, stream)).collect()
            };
            let (one, two) = (file(&[0xc0]), file(&[0xbd, 0x80]));
            assert_eq!(clock(&pack(second, 1234, &[0xc0])), Some(1234));
            assert_eq!(before_next(&one), None);
            assert_eq!(before_next(&[&one[..], &one].concat()), None);
            assert_eq!(before_next(&[&one[..], &two].concat()), Some(one.len()));
            assert_eq!(before_next(&[&two[..], &file(&[0xbd, 0x81])].concat()), Some(two.len()));
            // (Subtitles are no sound, and a stream that begins later is one of the same film.)
            assert_eq!(before_next(&[&one[..], &file(&[0xbd, 0x20])].concat()), None);
            let later = [&one[..], &pack(second, 3000, &[0xc1]), &one].concat();
            assert_eq!(before_next(&later), None);
        }
    }

    /// A packet with a table of a transport stream.
    fn table(number: u16, kind: u8, rows: &[u8]) -> Vec<u8> {
        let mut packet = vec![SYNC, 0x40 | (number >> 8) as u8, number as u8, 0x10, 0];
        packet.extend([kind, 0xb0, (rows.len() + 9) as u8, 0, 1, 0xc1, 0, 0]);
        packet.extend(rows);
        packet.resize(PACKET, 0xff);
        packet
    }

    #[test]
    fn transport_streams_with_other_sound_are_told_apart() {
        let map = |kind: u8, stream: u8| table(0x100, 2, &[0xe1, 1, 0xf0, 0, kind, 0xe1, stream, 0xf0, 0]);
        let filler = [&[SYNC, 1, 1, 0x10][..], &[0; 184]].concat();
        let file = |programs: &[u8], kind: u8, stream: u8| {
            [&table(0, 0, programs)[..], &map(kind, stream), &filler.repeat(5)].concat()
        };
        let single = [0, 1, 0xe1, 0];
        let one = file(&single, 3, 1);
        assert_eq!(before_next(&one.repeat(3)), None);
        assert_eq!(before_next(&[&one[..], &one, &file(&single, 0x81, 1)].concat()), Some(2 * one.len()));
        assert_eq!(before_next(&[&one[..], &file(&single, 3, 2)].concat()), Some(one.len()));
        // Pictures alone, and several programs.
        assert_eq!(before_next(&[&one[..], &file(&single, 2, 2)].concat()), None);
        let several = [0, 1, 0xe1, 0, 0, 2, 0xe1, 5];
        assert_eq!(before_next(&[file(&several, 3, 1), file(&several, 3, 2)].concat()), None);
    }
}
