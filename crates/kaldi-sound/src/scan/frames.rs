//! Formats that are a sequence of frames, each of which gives its length: AC-3, E-AC-3, AMR.

use super::{Finding, Pending, Scan};

/// Words of 16 bits of an AC-3 frame at 48, 44.1 and 32 kHz, by half the code of its size (ATSC A/52, table 5.18).
const AC3: [[u16; 3]; 19] = [
    [64, 69, 96],
    [80, 87, 120],
    [96, 104, 144],
    [112, 121, 168],
    [128, 139, 192],
    [160, 174, 240],
    [192, 208, 288],
    [224, 243, 336],
    [256, 278, 384],
    [320, 348, 480],
    [384, 417, 576],
    [448, 487, 672],
    [512, 557, 768],
    [640, 696, 960],
    [768, 835, 1152],
    [896, 975, 1344],
    [1024, 1114, 1536],
    [1152, 1253, 1728],
    [1280, 1393, 1920],
];
/// Bytes of an AMR frame with its header, by its type (RFC 4867); 0 for reserved types.
const AMR: [u8; 16] = [13, 14, 16, 18, 20, 21, 27, 32, 6, 6, 6, 6, 0, 0, 0, 1];
const AMR_WB: [u8; 16] = [18, 24, 33, 37, 41, 47, 51, 59, 61, 6, 0, 0, 0, 0, 1, 1];

/// The bytes of a frame: not yet known, or those of no frame.
pub(super) enum Length {
    Unknown,
    NoFrame,
    Bytes(u64),
    /// Zeros between frames.
    Padding(u64),
}

/// The length of a frame, by its first bytes.
type Measure = Box<dyn FnMut(&[u8]) -> Length + Send>;

pub(super) struct Frames {
    pending: Pending,
    length: Measure,
    broken: bool,
    /// True behind zeros between frames.
    padded: bool,
    /// The name of a frame, with its article, and of several.
    names: (&'static str, &'static str),
}

pub(super) fn ac3(begin: &[u8]) -> Length {
    let [b0, b1, b2, b3, b4, b5, ..] = *begin else { return Length::Unknown };
    if [b0, b1] != [0x0b, 0x77] {
        return Length::NoFrame;
    }
    if b5 >> 3 > 10 {
        // E-AC-3
        return Length::Bytes(2 * (u64::from(b2 & 7) << 8 | u64::from(b3)) + 2);
    }
    let (rate, size) = (usize::from(b4 >> 6), usize::from(b4 & 63));
    match AC3.get(size / 2).filter(|_| rate < 3) {
        // At 44.1 kHz odd codes have a word more.
        Some(words) => {
            Length::Bytes(2 * u64::from(words[rate]) + if rate == 1 { 2 * (size as u64 & 1) } else { 0 })
        }
        None => Length::NoFrame,
    }
}

fn amr_of(table: &[u8; 16], magic: &[u8], begin: &[u8]) -> Length {
    match begin {
        [] => Length::Unknown,
        [b'#', ..]
            if magic.starts_with(&begin[..begin.len().min(magic.len())]) && begin.len() < magic.len() =>
        {
            Length::Unknown
        }
        _ if begin.starts_with(magic) => Length::Bytes(magic.len() as u64),
        [first, ..] => match table[usize::from(first >> 3 & 15)] {
            0 => Length::NoFrame,
            bytes => Length::Bytes(bytes.into()),
        },
    }
}

impl Frames {
    /// Frames that the format calls so: one with its article, and several.
    pub fn named(
        names: (&'static str, &'static str),
        length: impl FnMut(&[u8]) -> Length + Send + 'static,
    ) -> Frames {
        Frames { pending: Pending::default(), length: Box::new(length), broken: false, padded: false, names }
    }

    pub fn of(length: impl FnMut(&[u8]) -> Length + Send + 'static) -> Frames {
        Frames::named(("a frame", "frames"), length)
    }

    pub fn ac3() -> Frames {
        Frames::of(ac3)
    }

    pub fn amr() -> Frames {
        Frames::of(|begin| amr_of(&AMR, b"#!AMR\n", begin))
    }

    pub fn amr_wb() -> Frames {
        Frames::of(|begin| amr_of(&AMR_WB, b"#!AMR-WB\n", begin))
    }
}

impl Scan for Frames {
    fn feed(&mut self, bytes: &[u8]) {
        if self.broken {
            return;
        }
        self.pending.push(bytes);
        loop {
            match (self.length)(self.pending.bytes()) {
                Length::Unknown => return,
                Length::NoFrame => {
                    self.broken = true;
                    return;
                }
                Length::Bytes(bytes) => {
                    self.padded = false;
                    self.pending.skip(bytes);
                }
                Length::Padding(bytes) => {
                    self.padded = true;
                    self.pending.skip(bytes);
                }
            }
        }
    }

    fn finish(&mut self) -> Option<Finding> {
        let (one, several) = self.names;
        if self.broken {
            let reason = format!("bytes between its {several} are not {one}");
            return Some(Finding::Broken { reason, hole: None });
        }
        // (The frames that should follow are not known.)
        let is_padding = self.padded && self.pending.bytes().iter().all(|&byte| byte == 0);
        let within = self.pending.owed() > 0 || !(self.pending.bytes().is_empty() || is_padding);
        let reason = format!("the file ends within {one}");
        within.then_some(Finding::Cut { bytes: None, reason })
    }
}
