//! Samples without a header: `s16le,16000`.

use std::io::{self, Read};
use std::str::FromStr;

use kaldi_io::KaldiReader;

use crate::RATES;
use crate::program::UNKNOWN;

/// Names of codings, as ffmpeg has them, with the number of the format chunk of waves and the bits of a sample. The
/// big-endian one is the last.
const CODINGS: [(&str, u16, u16); 9] = [
    ("s16le", 1, 16),
    ("s24le", 1, 24),
    ("s32le", 1, 32),
    ("f32le", 3, 32),
    ("f64le", 3, 64),
    ("u8", 1, 8),
    ("alaw", 6, 8),
    ("mulaw", 7, 8),
    ("s16be", 1, 16),
];
/// Channels, at most.
const MOST_CHANNELS: u16 = 64;

/// The form of samples without a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawForm {
    /// A number of `CODINGS`.
    coding: usize,
    /// In Hz.
    rate: u32,
    channels: u16,
}

impl FromStr for RawForm {
    type Err = String;

    /// Reads `CODING,RATE` or `CODING,RATE,CHANNELS`.
    fn from_str(text: &str) -> Result<RawForm, String> {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let names = || CODINGS.map(|(name, ..)| name).join(", ");
        let (coding, rate, channels) = match parts[..] {
            [coding, rate] => (coding, rate, "1"),
            [coding, rate, channels] => (coding, rate, channels),
            _ => {
                return Err(format!(
                    "expected CODING,RATE[,CHANNELS], such as s16le,16000; codings: {}",
                    names()
                ));
            }
        };
        let number = CODINGS.iter().position(|(name, ..)| *name == coding);
        let coding = number.ok_or_else(|| format!("expected one of {}, found '{coding}'", names()))?;
        let in_range = rate.parse().ok().filter(|rate| RATES.contains(rate));
        let rate = in_range.ok_or_else(|| {
            format!("expected a sampling rate from {} to {} Hz, found '{rate}'", RATES.start(), RATES.end())
        })?;
        let in_range = channels.parse().ok().filter(|count| (1..=MOST_CHANNELS).contains(count));
        let channels = in_range.ok_or_else(|| {
            format!("expected a number of channels from 1 to {MOST_CHANNELS}, found '{channels}'")
        })?;
        Ok(RawForm { coding, rate, channels })
    }
}

impl RawForm {
    /// Puts the header of a wave file without a length before the samples.
    pub(crate) fn with_header(self, reader: KaldiReader) -> KaldiReader {
        let name = reader.name().to_owned();
        let header = io::Cursor::new(self.header());
        KaldiReader::from_read(name, header.chain(ToEnd(Some(reader))))
    }

    fn header(self) -> Vec<u8> {
        let (name, format, bits) = CODINGS[self.coding];
        let is_big = name.ends_with("be");
        let short = |value: u16| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
        let long = |value: u32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
        let block = self.channels * (bits / 8);
        let mut out = if is_big { b"RIFX".to_vec() } else { b"RIFF".to_vec() };
        out.extend(long(UNKNOWN));
        out.extend(b"WAVEfmt ");
        out.extend(long(16));
        out.extend(short(format));
        out.extend(short(self.channels));
        out.extend(long(self.rate));
        out.extend(long(self.rate.saturating_mul(block.into())));
        out.extend(short(block));
        out.extend(short(bits));
        out.extend(b"data");
        out.extend(long(UNKNOWN));
        out
    }
}

/// A reader that is closed at its end, so that a command that failed is an error.
struct ToEnd(Option<KaldiReader>);

impl Read for ToEnd {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some(reader) = &mut self.0 else { return Ok(0) };
        let read = reader.read(out)?;
        if read == 0 && !out.is_empty() {
            self.0.take().map_or(Ok(()), KaldiReader::close).map_err(io::Error::other)?;
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Channels, SoundOptions, SoundStream};

    fn samples(form: &str, bytes: Vec<u8>) -> (u32, Vec<Vec<f32>>) {
        let options = SoundOptions { raw: Some(form.parse().unwrap()), ..SoundOptions::default() };
        let reader = KaldiReader::from_bytes("raw", bytes);
        let mut stream = SoundStream::from_reader_with(reader, &options).unwrap();
        let signals = stream.signals(Channels::Each).unwrap();
        let read = stream.read(100, &signals).unwrap();
        let rate = stream.sample_rate();
        assert_eq!(stream.seconds(), None);
        stream.close().unwrap();
        (rate, read)
    }

    #[test]
    fn samples_are_those_of_the_coding() {
        let s16 = [1000i16, -2, i16::MIN];
        let expected = vec![vec![1000.0, -2.0, -32768.0]];
        let bytes = |of: fn(i16) -> Vec<u8>| s16.iter().flat_map(|&x| of(x)).collect::<Vec<u8>>();
        assert_eq!(samples("s16le,16000", bytes(|x| x.to_le_bytes().into())), (16000, expected.clone()));
        assert_eq!(samples("s16be, 8000, 1", bytes(|x| x.to_be_bytes().into())).1, expected);
        assert_eq!(
            samples("f32le,16000", bytes(|x| (f32::from(x) / 32768.0).to_le_bytes().into())).1,
            expected
        );
        assert_eq!(samples("s32le,16000", bytes(|x| (i32::from(x) << 16).to_le_bytes().into())).1, expected);
        assert_eq!(samples("u8,16000", vec![128, 129]).1, [[0.0, 256.0]]);
        assert_eq!(samples("s16le,16000,2", vec![1, 0, 2, 0, 3, 0, 4, 0]).1, [[1.0, 3.0], [2.0, 4.0]]);
        // Samples that look like a header are samples.
        assert_eq!(samples("s16le,16000", b"RIFF\x10\0\0\0WAVEfmt ".to_vec()).1[0].len(), 8);
    }

    #[test]
    fn wrong_forms_are_named() {
        for (form, words) in [
            ("s16le", "expected CODING,RATE[,CHANNELS]"),
            ("s16,16000", "expected one of s16le, s24le"),
            ("s16le,16k", "expected a sampling rate from 1000 to 192000 Hz, found '16k'"),
            ("s16le,16000,0", "expected a number of channels from 1 to 64, found '0'"),
        ] {
            let error = form.parse::<RawForm>().unwrap_err();
            assert!(error.contains(words), "{form}: {error}");
        }
    }
}
