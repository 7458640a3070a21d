//! FLAC: the bytes of the frames, for an end within one in a file whose header does not give the number of samples.

use super::{Finding, Pending, Scan};

/// The polynomial of the checksum at the end of a frame, x^16 + x^15 + x^2 + 1.
const POLYNOMIAL: u16 = 0x8005;
/// Bytes of a frame without compression, with a good margin.
const LONGEST: usize = 1 << 22;

/// Reads the metadata, and keeps the bytes from the last frame's beginning on.
#[derive(Default)]
pub(super) struct Flac {
    pending: Pending,
    metadata: bool,
    begun: bool,
    /// Bytes from a frame's beginning on.
    tail: Vec<u8>,
}

fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum: u16, &byte| {
        (0..8).fold(sum ^ u16::from(byte) << 8, |sum, _| {
            if sum & 0x8000 == 0 { sum << 1 } else { sum << 1 ^ POLYNOMIAL }
        })
    })
}

/// True if a frame may begin so: the synchronisation code, and no reserved value.
fn is_frame(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0xf8 | 0xf9, third, fourth, ..]
        if third >> 4 != 0 && third & 15 != 15 && fourth & 1 == 0 && fourth >> 4 <= 10)
}

impl Scan for Flac {
    fn feed(&mut self, bytes: &[u8]) {
        self.pending.push(bytes);
        while !self.metadata {
            let there = self.pending.bytes();
            if !self.begun {
                if there.len() < 4 {
                    return;
                }
                self.begun = true;
                self.pending.skip(4);
                continue;
            }
            let [kind, a, b, c, ..] = *there else { return };
            self.pending.skip(4 + u64::from(u32::from_be_bytes([0, a, b, c])));
            if kind & 0x80 != 0 {
                self.metadata = true;
            }
        }
        self.tail.extend_from_slice(self.pending.bytes());
        self.pending.skip(self.pending.bytes().len() as u64);
        if self.tail.len() > 2 * LONGEST {
            self.tail.drain(..self.tail.len() - LONGEST);
        }
    }

    fn finish(&mut self) -> Option<Finding> {
        if !self.metadata || self.pending.owed() > 0 {
            return Some(Finding::Cut { bytes: None, reason: "the file ends within its header".to_owned() });
        }
        // The last frame is whole if the checksum of some frame's beginning up to the end fits.
        let starts = (0..self.tail.len()).rev().filter(|&at| is_frame(&self.tail[at..]));
        let mut looked = 0;
        for at in starts.take(8) {
            looked += 1;
            // A frame that ends in its checksum has the remainder 0.
            if checksum(&self.tail[at..]) == 0 {
                return None;
            }
        }
        let reason = "the file ends within a frame".to_owned();
        (looked > 0).then_some(Finding::Cut { bytes: None, reason })
    }
}
