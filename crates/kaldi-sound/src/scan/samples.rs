//! Samples behind a header that gives no length: IRCAM, and AU from a pipe. An end within a sample tells that bytes are missing.

use super::size::{be32, le32};
use super::{Finding, Scan};

/// Bytes of an IRCAM header.
const IRCAM: u64 = 1024;

pub(super) struct Samples {
    header: u64,
    /// Bytes of a sample of all channels.
    block: u64,
    seen: u64,
}

/// Bytes of a sample of one channel of an AU file, for codings without blocks.
fn au(coding: u64) -> Option<u64> {
    match coding {
        1 | 2 | 27 => Some(1),
        3 => Some(2),
        4 => Some(3),
        5 | 6 => Some(4),
        7 => Some(8),
        _ => None,
    }
}

impl Samples {
    pub fn of(begin: &[u8]) -> Option<Samples> {
        let (header, size, channels) = match begin {
            [b'.', b's', b'n', b'd', ..] => (be32(begin, 4)?, au(be32(begin, 12)?)?, be32(begin, 20)?),
            // (The low bits of a coding are the bytes of a sample.)
            [0x64, 0xa3, 1..=4, 0, ..] => (IRCAM, le32(begin, 12)? & 15, le32(begin, 8)?),
            [0, 1..=4, 0xa3, 0x64, ..] => (IRCAM, be32(begin, 12)? & 15, be32(begin, 8)?),
            _ => return None,
        };
        (size > 0 && (1..=64).contains(&channels)).then_some(Samples {
            header,
            block: size * channels,
            seen: 0,
        })
    }
}

impl Scan for Samples {
    fn feed(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
    }

    fn finish(&mut self) -> Option<Finding> {
        if self.seen < self.header {
            return Some(Finding::Cut { bytes: None, reason: "the file ends within its header".to_owned() });
        }
        let rest = (self.seen - self.header) % self.block;
        let reason = "the file ends within a sample".to_owned();
        (rest > 0).then(|| Finding::Cut { bytes: Some(self.block - rest), reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_within_a_sample_is_a_fault() {
        let ircam = |coding: u8, channels: u8| {
            let mut bytes =
                [&[0x64, 0xa3, 1, 0, 0, 0, 0x7a, 0x46, channels, 0, 0, 0, coding, 0, 0, 0][..]].concat();
            bytes.resize(1024 + 120, 7);
            bytes
        };
        let turned = |bytes: Vec<u8>| -> Vec<u8> {
            bytes.chunks_exact(4).flat_map(|four| four.iter().rev().copied()).collect()
        };
        let mut au =
            [&b".snd\0\0\0\x1c\xff\xff\xff\xff\0\0\0\x06\0\0\x3e\x80\0\0\0\x02"[..], &[0; 4]].concat();
        au.resize(28 + 120, 7);
        let finding = |bytes: &[u8]| {
            let mut samples = Samples::of(bytes).unwrap();
            samples.feed(bytes);
            samples.finish()
        };
        for (whole, block) in [(ircam(2, 1), 2), (ircam(4, 3), 12), (turned(ircam(8, 1)), 8), (au, 8)] {
            assert_eq!(finding(&whole), None);
            assert_eq!(finding(&whole[..whole.len() - block]), None);
            let cut = finding(&whole[..whole.len() - 1]);
            assert!(matches!(cut, Some(Finding::Cut { bytes: Some(1), .. })), "{cut:?}");
        }
        let short = finding(&ircam(2, 1)[..500]);
        assert!(matches!(short, Some(Finding::Cut { bytes: None, .. })), "{short:?}");
        assert!(Samples::of(b".snd").is_none());
    }
}
