//! Looks at the bytes of a recording on their way to a decoder, for an end that comes too early and for bytes behind it.

mod containers;
mod dts;
mod ebml;
mod flac;
mod frames;
mod mlp;
mod ogg;
mod samples;
mod size;

/// A fault of the bytes, found at their end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Finding {
    /// Bytes are missing at the end; `bytes` says how many, if that is known.
    Cut { bytes: Option<u64>, reason: String },
    /// The sound begins late, since sound before it is missing.
    Late { reason: String },
    /// Bytes behind the sound that the header tells of.
    Surplus { bytes: u64 },
    /// Bytes are missing, or are of another kind, in the middle.
    Broken { reason: String, hole: Option<Hole> },
}

/// The place of missing sound, in seconds of the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hole {
    pub at: f64,
    /// Seconds of the whole file.
    pub whole: f64,
}

/// A reader of a format's structure that gets all bytes in order, in pieces of any size.
pub(crate) trait Scan: Send {
    /// Takes the next bytes.
    fn feed(&mut self, bytes: &[u8]);
    /// Returns the fault, after all bytes.
    fn finish(&mut self) -> Option<Finding>;
}

/// Chooses the scanner for a file that begins like this.
pub(crate) fn scanner(begin: &[u8]) -> Option<Box<dyn Scan>> {
    match begin {
        [b'O', b'g', b'g', b'S', ..] => Some(Box::new(ogg::Ogg::default())),
        [0x1a, 0x45, 0xdf, 0xa3, ..] => Some(Box::new(ebml::Ebml::default())),
        [b'f', b'L', b'a', b'C', ..] => Some(Box::new(flac::Flac::default())),
        [0x0b, 0x77, ..] => Some(Box::new(frames::Frames::ac3())),
        [b'#', b'!', b'A', b'M', b'R', b'-', b'W', b'B', b'\n', ..] => {
            Some(Box::new(frames::Frames::amr_wb()))
        }
        [b'#', b'!', b'A', b'M', b'R', b'\n', ..] => Some(Box::new(frames::Frames::amr())),
        _ => containers::of(begin)
            .or_else(|| mlp::of(begin))
            .or_else(|| dts::of(begin))
            .map(|frames| Box::new(frames) as Box<dyn Scan>)
            .or_else(|| size::Size::of(begin).map(|size| Box::new(size) as Box<dyn Scan>))
            .or_else(|| samples::Samples::of(begin).map(|samples| Box::new(samples) as Box<dyn Scan>)),
    }
}

/// The fault of a file of `length` bytes by the size that its beginning gives.
pub(crate) fn of_size(begin: &[u8], length: u64) -> Option<Finding> {
    size::Size::of(begin).and_then(|size| size.judge(length))
}

/// The size in bytes that the beginning of a file gives.
pub(crate) fn promised(begin: &[u8]) -> Option<u64> {
    size::Size::of(begin).map(|size| size.promised())
}

/// The size in bytes of a file, by its beginning, behind which no sound of it follows.
pub(crate) fn end(begin: &[u8]) -> Option<u64> {
    size::Size::of(begin).and_then(|size| size.end())
}

/// True if an Ogg file that begins like this has more than one stream of Vorbis or FLAC.
pub(crate) fn has_other_streams(begin: &[u8]) -> bool {
    ogg::has_others(begin)
}

/// A packet of an MPEG program stream.
pub(crate) enum Packet {
    Bytes(u64),
    /// More bytes are needed to tell its length.
    Unknown,
    None,
}

/// The packet at the beginning of some bytes.
pub(crate) fn packet(begin: &[u8]) -> Packet {
    match containers::program_stream(begin) {
        frames::Length::Bytes(bytes) | frames::Length::Padding(bytes) => Packet::Bytes(bytes),
        frames::Length::Unknown => Packet::Unknown,
        frames::Length::NoFrame => Packet::None,
    }
}

/// Bytes of which a structure is read once enough of them are there.
#[derive(Default)]
pub(crate) struct Pending {
    bytes: Vec<u8>,
    /// Bytes that are passed over.
    skip: u64,
}

impl Pending {
    pub fn push(&mut self, mut bytes: &[u8]) {
        let skipped = self.skip.min(bytes.len() as u64);
        self.skip -= skipped;
        bytes = &bytes[skipped as usize..];
        self.bytes.extend_from_slice(bytes);
    }

    /// The bytes that are there.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Passes over the next `count` bytes, which may come later.
    pub fn skip(&mut self, count: u64) {
        let now = count.min(self.bytes.len() as u64);
        self.bytes.drain(..now as usize);
        self.skip += count - now;
    }

    /// Bytes that should have been passed over and did not come.
    pub fn owed(&self) -> u64 {
        self.skip
    }
}
