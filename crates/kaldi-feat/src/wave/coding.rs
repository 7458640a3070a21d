//! Codings of samples in wave files. All are read as 16-bit numbers. Wider ones lose their lower bits, fractions are
//! rounded, and values out of range are clipped.

use byteorder::{BigEndian, ByteOrder, LittleEndian};

use super::PCM;

/// A coding of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    /// Whole numbers of 1 to 4 bytes; those of one byte have no sign, and 128 is silence.
    Linear(usize),
    /// Numbers from -1 to 1 in 32 bits.
    Float,
    /// Numbers from -1 to 1 in 64 bits.
    Double,
    /// ITU-T G.711, A-law.
    ALaw,
    /// ITU-T G.711, µ-law.
    MuLaw,
}

impl Coding {
    /// The coding with a number of the format chunk and a number of bits. `None` for other codings.
    pub fn of(format: u16, bits: u16) -> Option<Coding> {
        match (format, bits) {
            (PCM, 1..=32) => Some(Coding::Linear(usize::from(bits).div_ceil(8))),
            (3, 32) => Some(Coding::Float),
            (3, 64) => Some(Coding::Double),
            (6, 8) => Some(Coding::ALaw),
            (7, 8) => Some(Coding::MuLaw),
            _ => None,
        }
    }

    /// Bytes of a sample of one channel.
    pub fn bytes(self) -> usize {
        match self {
            Coding::Linear(bytes) => bytes,
            Coding::Float => 4,
            Coding::Double => 8,
            Coding::ALaw | Coding::MuLaw => 1,
        }
    }

    /// Appends the samples in `bytes`, which has whole samples, to `out`. Returns the number of samples that are NaN or
    /// infinite. NaN is read as silence, and infinite samples as the loudest ones.
    pub fn decode(self, bytes: &[u8], big_endian: bool, out: &mut Vec<i16>) -> u64 {
        let samples = bytes.chunks_exact(self.bytes());
        let mut not_finite = 0;
        let mut fraction = |value: f64| {
            not_finite += u64::from(!value.is_finite());
            (value * 32768.0).round() as i16 // (`as` clips, and makes 0 of NaN)
        };
        match self {
            Coding::Linear(1) => out.extend(samples.map(|byte| (i16::from(byte[0]) - 128) << 8)),
            Coding::Linear(_) if big_endian => out.extend(samples.map(BigEndian::read_i16)),
            Coding::Linear(width) => {
                out.extend(samples.map(|byte| LittleEndian::read_i16(&byte[width - 2..])))
            }
            Coding::Float => {
                let number = if big_endian { BigEndian::read_f32 } else { LittleEndian::read_f32 };
                out.extend(samples.map(|bytes| fraction(number(bytes).into())));
            }
            Coding::Double => {
                let number = if big_endian { BigEndian::read_f64 } else { LittleEndian::read_f64 };
                out.extend(samples.map(|bytes| fraction(number(bytes))));
            }
            Coding::ALaw => out.extend(samples.map(|byte| from_a_law(byte[0]))),
            Coding::MuLaw => out.extend(samples.map(|byte| from_mu_law(byte[0]))),
        }
        not_finite
    }
}

/// G.711, table 1a: a sign, three bits for one of eight segments, four bits within it; even bits are inverted.
fn from_a_law(code: u8) -> i16 {
    let code = code ^ 0x55;
    let (segment, step) = (code >> 4 & 7, i16::from(code & 15));
    let size = match segment {
        0 => (step << 4) + 8,
        _ => ((step << 4) + 0x108) << (segment - 1),
    };
    if code & 0x80 == 0 { -size } else { size }
}

/// G.711, table 2a: as A-law, with an offset of 33 quarter steps; all bits are inverted.
fn from_mu_law(code: u8) -> i16 {
    let code = !code;
    let size = (((i16::from(code & 15) << 3) + 0x84) << (code >> 4 & 7)) - 0x84;
    if code & 0x80 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(coding: Coding, bytes: &[u8], big_endian: bool) -> Vec<i16> {
        let mut out = Vec::new();
        assert_eq!(coding.decode(bytes, big_endian, &mut out), 0);
        out
    }

    #[test]
    fn whole_numbers() {
        assert_eq!(decoded(Coding::Linear(1), &[0, 128, 129, 255], false), [-32768, 0, 256, 32512]);
        assert_eq!(decoded(Coding::Linear(2), &[1, 0, 0xff, 0x7f], false), [1, 32767]);
        assert_eq!(decoded(Coding::Linear(2), &[0, 1, 0x80, 0], true), [1, -32768]);
        assert_eq!(decoded(Coding::Linear(3), &[0x99, 1, 0, 0x99, 0xff, 0xff], false), [1, -1]);
        assert_eq!(decoded(Coding::Linear(3), &[0, 1, 0x99], true), [1]);
        assert_eq!(decoded(Coding::Linear(4), &[9, 9, 1, 0x80], false), [-32767]);
    }

    #[test]
    fn numbers_with_a_fraction() {
        let values = [0.0_f32, 0.5, -1.0, 1.0, -7.0, 1.6 / 32768.0, -1.6 / 32768.0];
        let expected = [0, 16384, -32768, 32767, -32768, 2, -2];
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(decoded(Coding::Float, &bytes, false), expected);
        let bytes: Vec<u8> = values.iter().flat_map(|&value| f64::from(value).to_be_bytes()).collect();
        assert_eq!(decoded(Coding::Double, &bytes, true), expected);
        let mut out = Vec::new();
        let bytes: Vec<u8> = [f32::NAN, f32::INFINITY].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!((Coding::Float.decode(&bytes, false, &mut out), out), (2, vec![0, 32767]));
    }

    /// Values of G.711's tables: decision values of both ends of segments.
    #[test]
    fn companded_numbers() {
        let a_law = [(0xd5, 8), (0x55, -8), (0xaa, 32256), (0x2a, -32256), (0x80, 5504), (0x00, -5504)];
        let mu_law = [(0xff, 0), (0x7f, 0), (0x80, 32124), (0x00, -32124), (0xf0, 120), (0xef, 132)];
        for (coding, cases) in [(Coding::ALaw, a_law), (Coding::MuLaw, mu_law)] {
            for (code, value) in cases {
                assert_eq!(decoded(coding, &[code], false), [value], "{coding:?} {code:#x}");
            }
        }
    }

    #[test]
    fn formats() {
        assert_eq!(Coding::of(1, 24), Some(Coding::Linear(3)));
        assert_eq!(Coding::of(1, 12), Some(Coding::Linear(2)));
        for (format, bits) in [(1, 0), (1, 40), (3, 16), (6, 16), (2, 4), (0x55, 0)] {
            assert_eq!(Coding::of(format, bits), None);
        }
    }
}
