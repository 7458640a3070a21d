//! The boxes of MP4, M4A, QuickTime and 3GP files: tracks, edit lists, ends of files (ISO/IEC 14496-12).

use std::io::{self, Read, Seek, SeekFrom};

/// The smallest gap between fragments, in seconds. Their times may be rounded.
const GAP: f64 = 0.02;
/// The largest index that is read, in bytes.
const MOST: u64 = 1 << 28;

/// A file among those that are joined.
pub(crate) struct Part {
    /// Its bytes in the file.
    pub start: u64,
    pub end: u64,
    /// Bytes that are missing at its end.
    pub missing: u64,
    /// Bytes behind it that belong to no box.
    pub behind: u64,
    pub index: Option<Index>,
    /// The number and the time of the first fragment, if others came before it.
    pub before: Option<(u64, f64)>,
    /// Places of 8 bytes in the file, and the numbers that are to be read there: places of sound that are wrong because bytes
    /// before them are missing.
    pub patches: Vec<(u64, u64)>,
}

/// The tracks of a file.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub tracks: Vec<Track>,
    pub fragmented: bool,
    /// The number of the first fragment, and its time in seconds, if these tell that others came before it.
    before: Option<(u64, f64)>,
    /// True once a fragment was seen.
    begun: bool,
    /// Tracks and lengths of packets that fragments have if they do not say another one (`trex`).
    defaults: Vec<(u32, u64)>,
}

#[derive(Debug, Default)]
pub(crate) struct Track {
    pub id: u32,
    /// True for sound; false for pictures.
    pub sound: bool,
    /// Tracks that are not enabled are for the user's choice alone.
    pub enabled: bool,
    pub channels: u16,
    /// The length of all packets in seconds; 0 if it is not known.
    pub length: f64,
    pub pieces: Vec<Piece>,
    /// Ticks a second.
    scale: f64,
    /// Ticks of all packets so far, of the index and the fragments.
    ticks: u64,
    /// Gaps before fragments.
    pub jumps: Vec<Jump>,
    /// The number by which times of fragments are larger than the sum of all packets before, without the gaps.
    base: Option<i128>,
}

/// A gap between fragments, because one of them is missing. Times are ticks of the track.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Jump {
    /// The sum of all packets before it.
    pub at: u64,
    /// All gaps up to here.
    pub sum: i64,
}

/// A piece of a track's packets that is played. Times are seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Piece {
    /// The time of its beginning and its end in the order of packets.
    pub begin: f64,
    pub end: f64,
    /// The time at which it is played.
    pub at: f64,
}

impl Track {
    /// The time at which its first packet is played.
    fn start(&self) -> f64 {
        self.pieces.first().map_or(0.0, |piece| piece.at)
    }

    /// True if all pieces come in the order of packets.
    pub fn is_in_order(&self) -> bool {
        self.pieces.windows(2).all(|pair| pair[0].end <= pair[1].begin)
    }

    /// Ticks of gaps between fragments before the packet at `ticks`, which is the sum of all packets before it.
    pub fn gaps(jumps: &[Jump], ticks: i64) -> i64 {
        let before = jumps.partition_point(|jump| i64::try_from(jump.at).is_ok_and(|at| at <= ticks));
        before.checked_sub(1).map_or(0, |last| jumps[last].sum)
    }

    /// Adds a fragment with packets of `ticks` in all. `time` is its time, if it has one. The first one follows the packets of the
    /// index, if there are some; else it may have any time.
    fn add_fragment(&mut self, time: Option<u64>, ticks: u64) {
        let sum = self.jumps.last().map_or(0, |jump| jump.sum);
        if let Some(time) = time {
            let late = i128::from(time) - i128::from(self.ticks) - i128::from(sum);
            let first = if self.ticks > 0 { 0 } else { late };
            let gap = late - *self.base.get_or_insert(first);
            if gap as f64 > GAP * self.scale {
                let sum = sum.saturating_add(i64::try_from(gap).unwrap_or(i64::MAX));
                self.jumps.push(Jump { at: self.ticks, sum });
            } else if (gap as f64) < -GAP * self.scale {
                // (Fragments of another recording.)
                self.base = Some(late);
            }
        }
        self.ticks = self.ticks.saturating_add(ticks);
    }

    /// The time at which its last packet ends.
    pub fn end(&self) -> Option<f64> {
        let last = self.pieces.last()?;
        (self.length > 0.0).then(|| last.at + (last.end.min(self.length) - last.begin).max(0.0))
    }
}

impl Index {
    /// The tracks of sound.
    pub fn sound(&self) -> impl Iterator<Item = &Track> {
        self.tracks.iter().filter(|track| track.sound)
    }

    /// The time at which the first track begins.
    pub fn start(&self) -> f64 {
        let start = self.tracks.iter().map(Track::start).fold(f64::INFINITY, f64::min);
        if start.is_finite() { start } else { 0.0 }
    }
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    Some(bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// The boxes within some bytes: names and contents.
fn boxes(mut bytes: &[u8]) -> Vec<([u8; 4], &[u8])> {
    let mut all = Vec::new();
    while let (Some(size), Some(name)) = (number(bytes, 0, 4), bytes.get(4..8)) {
        let (header, size) = match size {
            0 => (8, bytes.len() as u64),
            1 => (16, number(bytes, 8, 8).unwrap_or(0)),
            size => (8, size),
        };
        let Some(content) = usize::try_from(size).ok().and_then(|size| bytes.get(header..size)) else {
            break;
        };
        all.push(([name[0], name[1], name[2], name[3]], content));
        bytes = &bytes[header + content.len()..];
    }
    all
}

/// The first box of a name.
fn child<'b>(bytes: &'b [u8], name: &[u8; 4]) -> Option<&'b [u8]> {
    boxes(bytes).into_iter().find(|(found, _)| found == name).map(|(_, content)| content)
}

/// Ticks a second in a box `mvhd` or `mdhd`.
fn timescale(bytes: &[u8]) -> Option<f64> {
    let at = if *bytes.first()? == 1 { 20 } else { 12 };
    number(bytes, at, 4).filter(|&scale| scale > 0).map(|scale| scale as f64)
}

/// The pieces of an edit list; `movie` and `media` are ticks a second.
fn edits(list: &[u8], movie: f64, media: f64) -> Option<Vec<Piece>> {
    let wide = *list.first()? == 1;
    let (width, row) = if wide { (8, 20) } else { (4, 12) };
    let (mut at, mut pieces) = (0.0, Vec::new());
    for entry in 0..number(list, 4, 4)?.min(list.len() as u64 / row) {
        let place = 8 + (entry * row) as usize;
        let (length, begin) = (number(list, place, width)?, number(list, place + width, width)?);
        let length = length as f64 / movie;
        let begin = if wide { begin as i64 } else { i64::from(begin as u32 as i32) };
        if begin >= 0 {
            let begin = begin as f64 / media;
            // A length of 0 is that of a file that is still written. Lengths are rounded to a tick of the movie.
            let end = if length == 0.0 { f64::INFINITY } else { begin + length + 1.0 / movie };
            pieces.push(Piece { begin, end, at });
        }
        at += length;
    }
    // Only the last piece may be a tick longer.
    for next in 1..pieces.len() {
        pieces[next - 1].end = pieces[next - 1].begin + (pieces[next].at - pieces[next - 1].at);
    }
    Some(pieces).filter(|pieces| !pieces.is_empty())
}

/// Delay and length in samples that iTunes notes beside the index.
fn itunes(movie: &[u8]) -> Option<(f64, f64)> {
    let name = b"iTunSMPB";
    let at = movie.windows(name.len()).position(|bytes| bytes == name)?;
    let data = at + movie[at..].windows(4).position(|bytes| bytes == b"data")? + 12;
    let text = String::from_utf8_lossy(movie.get(data..(data + 100).min(movie.len()))?).into_owned();
    let mut numbers = text.split_whitespace().skip(1).map(|digits| u64::from_str_radix(digits, 16));
    let (delay, _, length) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
    (length > 0).then_some((delay as f64, length as f64))
}

fn track(bytes: &[u8], movie: f64, whole: &[u8]) -> Option<Track> {
    let header = child(bytes, b"tkhd")?;
    let enabled = header.get(3)? & 1 != 0;
    let id = number(header, if header[0] == 1 { 20 } else { 12 }, 4)? as u32;
    let media = child(bytes, b"mdia")?;
    let sound = match child(media, b"hdlr")?.get(8..12)? {
        b"soun" => true,
        b"vide" => false,
        _ => return None,
    };
    let scale = timescale(child(media, b"mdhd")?)?;
    let table = child(child(media, b"minf")?, b"stbl")?;
    let lengths = child(table, b"stts").unwrap_or_default();
    let ticks: u64 = lengths.get(8..).unwrap_or_default().chunks_exact(8).fold(0, |sum: u64, row| {
        let value = |at| number(row, at, 4).unwrap_or(0);
        sum.saturating_add(value(0) * value(4))
    });
    // The sample entry: reserved 6, index 2, version 2, revision 2, vendor 4, channels 2.
    let channels = child(table, b"stsd").and_then(|list| number(list, 8 + 8 + 16, 2)).unwrap_or(0) as u16;
    let list = child(bytes, b"edts").and_then(|edits| child(edits, b"elst"));
    let noted = || {
        let (delay, length) = itunes(whole).filter(|_| sound && list.is_none())?;
        Some(vec![Piece { begin: delay / scale, end: (delay + length) / scale, at: 0.0 }])
    };
    let all = || vec![Piece { begin: 0.0, end: f64::INFINITY, at: 0.0 }];
    let pieces = list.and_then(|list| edits(list, movie, scale)).or_else(noted).unwrap_or_else(all);
    let (length, jumps) = (ticks as f64 / scale, Vec::new());
    Some(Track { id, sound, enabled, channels, length, pieces, scale, ticks, jumps, base: None })
}

fn index(movie: &[u8]) -> Option<Index> {
    let scale = timescale(child(movie, b"mvhd")?)?;
    let tracks = boxes(movie).into_iter().filter(|(name, _)| name == b"trak");
    let tracks = tracks.filter_map(|(_, content)| track(content, scale, movie)).collect();
    let extended = child(movie, b"mvex");
    let rows = boxes(extended.unwrap_or_default()).into_iter().filter(|(name, _)| name == b"trex");
    let defaults =
        rows.filter_map(|(_, row)| Some((number(row, 4, 4)? as u32, number(row, 12, 4)?))).collect();
    Some(Index { tracks, fragmented: extended.is_some(), defaults, ..Index::default() })
}

/// Adds the fragment that a box `moof` describes.
fn fragment(index: &mut Index, content: &[u8]) {
    let is_first = !std::mem::replace(&mut index.begun, true);
    let number_of = child(content, b"mfhd").and_then(|header| number(header, 4, 4));
    for (_, run) in boxes(content).into_iter().filter(|(name, _)| name == b"traf") {
        let Some((id, time, ticks)) = of_track(run, &index.defaults) else { continue };
        if let Some(track) = index.tracks.iter_mut().find(|track| track.id == id) {
            // (What is missing behind packets of the index is a gap.)
            let late =
                time.filter(|_| is_first && track.ticks == 0).map_or(0.0, |time| time as f64 / track.scale);
            if late > GAP && index.before.is_none() {
                index.before = number_of.filter(|&number| number > 1).map(|number| (number, late));
            }
            track.add_fragment(time, ticks);
        }
    }
}

/// The places within a box `moof` that give the place of its data in the file, if these are behind `most`.
fn wrong_places(content: &[u8], most: u64) -> Vec<u64> {
    let within = |inner: &[u8]| (inner.as_ptr() as usize - content.as_ptr() as usize) as u64;
    let runs = boxes(content).into_iter().filter(|(name, _)| name == b"traf");
    let headers = runs.filter_map(|(_, run)| child(run, b"tfhd"));
    let wrong = headers.filter(|header| {
        number(header, 1, 3).is_some_and(|flags| flags & 1 != 0)
            && number(header, 8, 8).is_some_and(|place| place > most)
    });
    wrong.map(|header| within(header) + 8).collect()
}

/// The track of a box `traf`, its time, and the sum of its packets, in ticks.
fn of_track(content: &[u8], defaults: &[(u32, u64)]) -> Option<(u32, Option<u64>, u64)> {
    let header = child(content, b"tfhd")?;
    let (flags, id) = (number(header, 1, 3)?, number(header, 4, 4)? as u32);
    // (Offset of the data 8, number of the description 4, length of a packet 4.)
    let at = 8 + 8 * (flags & 1) as usize + 4 * (flags >> 1 & 1) as usize;
    let length = match flags & 8 {
        0 => defaults.iter().find(|(track, _)| *track == id).map_or(0, |(_, length)| *length),
        _ => number(header, at, 4)?,
    };
    let time =
        child(content, b"tfdt").and_then(|time| number(time, 4, if *time.first()? == 1 { 8 } else { 4 }));
    let mut ticks = 0_u64;
    for (_, run) in boxes(content).into_iter().filter(|(name, _)| name == b"trun") {
        let (flags, count) = (number(run, 1, 3)?, number(run, 4, 4)?);
        if flags & 0x100 == 0 {
            ticks = ticks.saturating_add(count.saturating_mul(length));
            continue;
        }
        // (Offset of the data 4, flags of the first packet 4; each packet: length, size, flags, offset of the picture.)
        let begin = 8 + 4 * (flags & 1) as usize + 4 * (flags >> 2 & 1) as usize;
        let row = 4 * (flags >> 8 & 15).count_ones() as usize;
        let rows = run.get(begin..)?.chunks_exact(row).take(usize::try_from(count).ok()?);
        ticks = rows.fold(ticks, |sum, row| sum.saturating_add(number(row, 0, 4).unwrap_or(0)));
    }
    Some((id, time, ticks))
}

/// Goes through the boxes of a file of `length` bytes.
pub(crate) fn parts(file: &mut (impl Read + Seek), length: u64) -> io::Result<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    let mut at = 0;
    let mut content = false;
    let part = |start| Part {
        start,
        end: start,
        missing: 0,
        behind: 0,
        index: None,
        before: None,
        patches: Vec::new(),
    };
    while at + 8 <= length {
        file.seek(SeekFrom::Start(at))?;
        let mut header = [0; 16];
        let there = (length - at).min(16) as usize;
        file.read_exact(&mut header[..there])?;
        let (name, short) = (&header[4..8], number(&header, 0, 4).unwrap_or(0));
        let (begin, size) = match short {
            0 => (8, length - at),
            1 => (16, number(&header, 8, 8).unwrap_or(0)),
            size => (8, size),
        };
        if size < begin || !name.iter().all(|byte| (b' '..=b'~').contains(byte) || *byte == 0xa9) {
            break;
        }
        if parts.is_empty() || (name == b"ftyp" && content) {
            parts.push(part(at));
            content = false;
        }
        content |= name == b"moov" || name == b"mdat";
        let Some(part) = parts.last_mut() else { break };
        part.end = at.saturating_add(size).min(length);
        part.missing = at.saturating_add(size) - part.end;
        if name == b"moov" && part.missing == 0 && size <= MOST {
            let mut movie = vec![0; (size - begin) as usize];
            file.seek(SeekFrom::Start(at + begin))?;
            file.read_exact(&mut movie)?;
            part.index = index(&movie);
        }
        if name == b"moof"
            && part.missing == 0
            && size <= MOST
            && let Some(index) = &mut part.index
        {
            let mut content = vec![0; (size - begin) as usize];
            file.seek(SeekFrom::Start(at + begin))?;
            file.read_exact(&mut content)?;
            fragment(index, &content);
            part.before = index.before;
            // (The data of a fragment are in the box behind it.)
            let here = at - part.start;
            let places = wrong_places(&content, here + size + 16);
            part.patches.extend(places.into_iter().map(|place| (at + begin + place, here)));
        }
        at = part.end;
    }
    if parts.is_empty() {
        parts.push(part(0));
        at = length;
        parts[0].end = length;
    }
    if let Some(last) = parts.last_mut() {
        last.behind = length - at;
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
        [&(content.len() as u32 + 8).to_be_bytes()[..], name, content].concat()
    }

    #[test]
    fn edit_lists() {
        // An empty edit of 2 s, then all from 1024 ticks of 8000 Hz on, for 1 s.
        let list: Vec<u8> = [0, 2, 2000, u32::MAX, 0x10000, 1000, 1024, 0x10000]
            .iter()
            .flat_map(|x: &u32| x.to_be_bytes())
            .collect();
        let pieces = edits(&list, 1000.0, 8000.0).unwrap();
        assert_eq!(pieces, [Piece { begin: 0.128, end: 1.129, at: 2.0 }]);
        let list: Vec<u8> =
            [0, 2, 500, 0, 0x10000, 1000, 8000, 0x10000].iter().flat_map(|x: &u32| x.to_be_bytes()).collect();
        let pieces = edits(&list, 1000.0, 8000.0).unwrap();
        assert_eq!(pieces[0], Piece { begin: 0.0, end: 0.5, at: 0.0 });
        assert_eq!(pieces[1], Piece { begin: 1.0, end: 2.001, at: 0.5 });
        assert_eq!(edits(&[0; 8], 1000.0, 8000.0), None);
    }

    #[test]
    fn joined_cut_and_padded_files() {
        let one = [boxed(b"ftyp", b"M4A \0\0\0\0"), boxed(b"mdat", &[1; 100]), boxed(b"moov", &[])].concat();
        let both = [one.clone(), one.clone(), vec![0; 30]].concat();
        let all = parts(&mut io::Cursor::new(&both), both.len() as u64).unwrap();
        let found: Vec<_> =
            all.iter().map(|part| (part.start, part.end, part.missing, part.behind)).collect();
        let size = one.len() as u64;
        assert_eq!(found, [(0, size, 0, 0), (size, 2 * size, 0, 30)]);
        let cut = &one[..60];
        let all = parts(&mut io::Cursor::new(cut), 60).unwrap();
        assert_eq!((all.len(), all[0].end, all[0].missing), (1, 60, 16 + 108 - 60));
    }
}
