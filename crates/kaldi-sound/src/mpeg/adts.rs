//! Headers of frames of AAC in ADTS (ISO/IEC 13818-7).

use super::header::Header;

const RATES: [u32; 13] =
    [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350];
const SAMPLES: usize = 1024;

pub(super) fn parse(bytes: &[u8]) -> Option<Header> {
    let [0xff, second, third, fourth, fifth, sixth, seventh, ..] = *bytes else { return None };
    let rate = *RATES.get(usize::from(third >> 2 & 15))?;
    let channels = match (third & 1) << 2 | fourth >> 6 {
        // (0: the channels are within the frame.)
        0 => return None,
        7 => 8,
        number => usize::from(number),
    };
    let size = usize::from(fourth & 3) << 11 | usize::from(fifth) << 3 | usize::from(sixth >> 5);
    let begin = if second & 1 == 0 { 9 } else { 7 };
    // One block of data a frame.
    (size > begin && seventh & 3 == 0).then_some(Header {
        layer: 0,
        first_version: true,
        rate,
        channels,
        size,
        begin,
        samples: SAMPLES,
        bits: 0,
    })
}
