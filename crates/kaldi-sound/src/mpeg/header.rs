//! Headers of frames of MPEG audio (ISO/IEC 11172-3, 13818-3).

use symphonia::core::audio::{Channels, Position};
use symphonia::core::codecs::audio::well_known::{CODEC_ID_AAC, CODEC_ID_MP1, CODEC_ID_MP2, CODEC_ID_MP3};
use symphonia::core::codecs::audio::{AudioCodecId, AudioCodecParameters, AudioDecoder, AudioDecoderOptions};

use super::{adts, layer2};

/// Bit rates in kbit/s by their code: version 1 with layers 1, 2 and 3; version 2 with layer 1, and with the others.
const BIT_RATES: [[u16; 16]; 5] = [
    [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 0],
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 0],
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0],
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256, 0],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0],
];
const RATES: [u32; 3] = [44_100, 48_000, 32_000];

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// The layer, from 1; 0 for AAC.
    pub layer: u8,
    /// True for MPEG 1; the others have lower rates.
    pub first_version: bool,
    pub rate: u32,
    pub channels: usize,
    /// Bytes of the frame.
    pub size: usize,
    /// Bytes before the data that the decoder gets.
    pub begin: usize,
    /// Samples of each channel.
    pub samples: usize,
    /// Bits a second; 0 for AAC.
    pub bits: usize,
}

impl Header {
    /// The header at the beginning of some bytes.
    pub fn parse(bytes: &[u8]) -> Option<Header> {
        let [0xff, second, third, fourth, ..] = *bytes else { return None };
        if second & 0xf6 == 0xf0 {
            return adts::parse(bytes);
        }
        let version = second >> 3 & 3;
        let layer = 4 - (second >> 1 & 3);
        if second & 0xe0 != 0xe0 || version == 1 || layer == 4 {
            return None;
        }
        let first_version = version == 3;
        let row = match (first_version, layer) {
            (true, layer) => usize::from(layer) - 1,
            (false, 1) => 3,
            (false, _) => 4,
        };
        let bits = usize::from(BIT_RATES[row][usize::from(third >> 4)]) * 1000;
        let rate = RATES.get(usize::from(third >> 2 & 3))? >> [2, 0, 1, 0][usize::from(version)];
        let padding = usize::from(third >> 1 & 1);
        if bits == 0 {
            return None;
        }
        let samples = match layer {
            1 => 384,
            3 if !first_version => 576,
            _ => 1152,
        };
        let size = match layer {
            1 => (12 * bits / rate as usize + padding) * 4,
            _ => samples / 8 * bits / rate as usize + padding,
        };
        let channels = if fourth >> 6 == 3 { 1 } else { 2 };
        Some(Header { layer, first_version, rate, channels, size, begin: 0, samples, bits })
    }

    /// True if one decoder can decode frames with both headers.
    pub fn is_like(&self, other: &Header) -> bool {
        let form = |header: &Header| {
            let unusual = header.is_unusual().then_some(header.bits);
            (header.layer, header.first_version, header.rate, header.channels, unusual)
        };
        form(self) == form(other)
    }

    /// True if a frame with the other header may follow.
    pub fn is_family(&self, other: &Header) -> bool {
        self.layer == other.layer
    }

    /// True if the decoder refuses such frames, which other programs write nevertheless: MP2 with a bit rate that the standard
    /// does not allow for the number of channels.
    pub fn is_unusual(&self) -> bool {
        let refused: &[usize] = if self.channels == 1 { &[224, 256, 320, 384] } else { &[32, 48, 56, 80] };
        self.layer == 2 && refused.contains(&(self.bits / 1000))
    }

    /// The data for the decoder, of a frame with this header. See [`layer2`].
    pub fn data(&self, frame: &[u8]) -> Vec<u8> {
        match self.is_unusual() {
            true => layer2::usual(self, frame),
            false => frame[self.begin..].to_vec(),
        }
    }

    fn codec(&self) -> AudioCodecId {
        [CODEC_ID_AAC, CODEC_ID_MP1, CODEC_ID_MP2, CODEC_ID_MP3][usize::from(self.layer)]
    }

    /// A decoder of frames with this header.
    pub fn decoder(
        &self,
        options: &AudioDecoderOptions,
    ) -> symphonia::core::errors::Result<Box<dyn AudioDecoder>> {
        let mut parameters = AudioCodecParameters::new();
        let positions =
            Position::from_count(self.channels as u32).map_or(Channels::Discrete(1), Channels::Positioned);
        parameters.for_codec(self.codec()).with_sample_rate(self.rate).with_channels(positions);
        symphonia::default::get_codecs().make_audio_decoder(&parameters, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let parse =
            |bytes: [u8; 4]| Header::parse(&bytes).map(|h| (h.layer, h.rate, h.channels, h.size, h.samples));
        assert_eq!(parse([0xff, 0xfb, 0x90, 0x64]), Some((3, 44_100, 2, 417, 1152)));
        assert_eq!(parse([0xff, 0xf3, 0x48, 0xc4]), Some((3, 16_000, 1, 144, 576)));
        assert_eq!(parse([0xff, 0xe3, 0x48, 0xc4]), Some((3, 8_000, 1, 288, 576)));
        assert_eq!(parse([0xff, 0xfd, 0x94, 0xc4]), Some((2, 48_000, 1, 480, 1152)));
        for none in [
            [0xff, 0xeb, 0x90, 0x64],
            [0xff, 0xfb, 0xf0, 0],
            [0xff, 0xfb, 0x9c, 0],
            [0xff, 0xf9, 0, 0],
            [0; 4],
        ] {
            assert_eq!(parse(none), None, "{none:x?}");
        }
    }
}
