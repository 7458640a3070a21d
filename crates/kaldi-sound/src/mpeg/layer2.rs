//! MP2 frames with bit rates that the standard does not allow for their number of channels. ffmpeg writes mono with
//! 384 kbit/s by default. Our decoder refuses them, so they are written as frames that are allowed, with the same samples.

use symphonia::core::audio::GenericAudioBufferRef;

use super::header::Header;
use crate::blocks::Block;

/// The codes of 384 kbit/s, and of 96 kbit/s in both versions of MPEG, in the upper half of the third byte.
const MOST: u8 = 14 << 4;
const FEW: [u8; 2] = [10 << 4, 6 << 4];
/// The codes of rates in the third byte.
const OF_44_100: u8 = 0;
const OF_48_000: u8 = 1 << 2;
const OF_32_000: u8 = 2 << 2;
/// The largest number of subbands with samples (tables 3-B.2a and 3-B.2b).
const SUBBANDS: [usize; 2] = [27, 30];

/// Bits of the number that tells the quantization of a subband (tables 3-B.2a and 3-B.2b).
fn allocation(subband: usize) -> usize {
    match subband {
        0..=10 => 4,
        11..=22 => 3,
        _ => 2,
    }
}

/// The same samples as a frame that is allowed. Stereo becomes a longer frame with 96 kbit/s. Mono becomes the first channel
/// of a stereo frame with 384 kbit/s and a silent second channel. If it has 384 kbit/s itself, the frame says a lower rate,
/// so that it is longer.
pub(super) fn usual(header: &Header, frame: &[u8]) -> Vec<u8> {
    let third = frame[2];
    let rate = third & 0x0c;
    if header.channels > 1 {
        // (The same rate, no padding.)
        let third = third & 0x0d | FEW[usize::from(header.first_version)];
        return with_size(vec![frame[0], frame[1], third, frame[3]], &frame[4..], header.rate, 96_000);
    }
    let (said, hertz) = match (header.bits, rate) {
        (384_000, OF_48_000) => (OF_44_100, 44_100),
        (384_000, OF_44_100) => (OF_32_000, 32_000),
        _ => (rate, header.rate),
    };
    // (Without a checksum.)
    let head = vec![frame[0], frame[1] | 1, third & 1 | MOST | said, frame[3] & 0x0f];
    let data = &frame[if frame[1] & 1 == 0 { 6 } else { 4 }..];
    let (from, to) = (SUBBANDS[usize::from(rate != OF_48_000)], SUBBANDS[usize::from(said != OF_48_000)]);
    let mut bits = Bits::default();
    let mut at = 0;
    for subband in 0..to {
        let count = allocation(subband);
        match subband < from {
            true => bits.copy(data, at, count),
            false => bits.zeros(count),
        }
        at += if subband < from { count } else { 0 };
        bits.zeros(count);
    }
    bits.copy(data, at, (8 * data.len()).saturating_sub(at));
    with_size(head, &bits.bytes, hertz, 384_000)
}

/// A frame of the size that its header gives.
fn with_size(mut head: Vec<u8>, data: &[u8], rate: u32, bits: usize) -> Vec<u8> {
    head.extend_from_slice(data);
    head.resize(144 * bits / rate as usize, 0);
    head
}

/// The samples of a frame that was changed.
pub(super) fn block(header: &Header, samples: &GenericAudioBufferRef<'_>) -> Block {
    let mut block = Block::of_buffer(samples);
    if header.channels == 1 {
        block.samples = block.samples.iter().step_by(block.channels.max(1)).copied().collect();
    }
    (block.rate, block.channels) = (header.rate, header.channels);
    block
}

/// Bits, the highest one of a byte first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    fn push(&mut self, bit: u8) {
        if self.count.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= bit << (7 - self.count % 8);
        }
        self.count += 1;
    }

    fn zeros(&mut self, count: usize) {
        (0..count).for_each(|_| self.push(0));
    }

    /// Appends bits of `data` from the bit `from` on.
    fn copy(&mut self, data: &[u8], from: usize, count: usize) {
        for at in from..from + count {
            let bit = data.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
            self.push(bit);
        }
    }
}
