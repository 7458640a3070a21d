//! Wave files: RIFF or RIFX with 16-bit PCM, whole, piece by piece, or only how long they are.
//!
//! Streamed files, whose writer did not know the length, have impossible sizes in their headers; then only the data say
//! how many samples there are.

mod header;
mod stream;

use std::io::Read;

use byteorder::{BigEndian, ByteOrder, LittleEndian};
use kaldi_io::holder::Holder;
use kaldi_io::{IoError, KaldiReader, KaldiWriter};

use header::Header;
pub use stream::WaveStream;

type Result<T> = std::result::Result<T, IoError>;

const NO_SOUND: &str = "there are no sound data";
const PCM: u16 = 1;
const EXTENSIBLE: u16 = 0xfffe;
/// The sub-format PCM of extensible files (KSDATAFORMAT_SUBTYPE_PCM).
const PCM_GUID: [u8; 16] = [1, 0, 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];

#[derive(Debug, Clone, PartialEq)]
pub struct WaveInfo {
    /// In Hz.
    pub sample_rate: u32,
    /// How many samples each channel has; unknown if the header does not say it and the data were not read.
    pub samples: Option<u64>,
}

impl WaveInfo {
    /// In seconds.
    pub fn duration(&self) -> Option<f32> {
        self.samples.map(|samples| samples as f32 / self.sample_rate as f32)
    }
}

/// Wave files of which only the header is read; they must not lie in an archive.
pub struct WaveHeaderHolder;

/// Wave files that are read to their end, to see how long they really are.
pub struct WaveDataHolder;

fn only_read() -> Result<()> {
    Err(IoError::Value("lengths of wave files are only read".to_owned()))
}

impl Holder for WaveHeaderHolder {
    type T = WaveInfo;

    fn read(r: &mut KaldiReader) -> Result<WaveInfo> {
        let header = Header::read(r)?;
        let samples = header.data_bytes.map(|bytes| u64::from(bytes) / header.block_align);
        Ok(WaveInfo { sample_rate: header.sample_rate, samples })
    }

    fn write(_: &mut KaldiWriter, _: &WaveInfo) -> Result<()> {
        only_read()
    }
}

impl Holder for WaveDataHolder {
    type T = WaveInfo;

    fn read(r: &mut KaldiReader) -> Result<WaveInfo> {
        let header = Header::read(r)?;
        let limit = header.data_bytes.map_or(u64::MAX, u64::from);
        let bytes = skip(r, limit)?;
        if bytes == 0 {
            return Err(r.error(NO_SOUND));
        }
        Ok(WaveInfo { sample_rate: header.sample_rate, samples: Some(bytes / header.block_align) })
    }

    fn write(_: &mut KaldiWriter, _: &WaveInfo) -> Result<()> {
        only_read()
    }
}

/// Reads up to `limit` bytes and says how many there were.
fn skip(r: &mut KaldiReader, limit: u64) -> Result<u64> {
    std::io::copy(&mut r.take(limit), &mut std::io::sink())
        .map_err(|source| IoError::Io { name: r.name().to_owned(), source })
}

/// The samples of a wave file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wave {
    /// In Hz.
    pub sample_rate: u32,
    /// The number of channels, at least one.
    pub channels: usize,
    /// The first sample of each channel, then the second ones, and so on.
    pub samples: Vec<i16>,
    /// Bytes of samples that the header announced and that could not be read.
    pub missing: u64,
}

impl Wave {
    /// The number of samples of each channel.
    pub fn len(&self) -> usize {
        self.samples.len() / self.channels
    }

    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// In seconds.
    pub fn duration(&self) -> f32 {
        self.len() as f32 / self.sample_rate as f32
    }

    /// The samples of a channel (from 0), not scaled. Empty if there is no such channel.
    pub fn channel(&self, channel: usize) -> Vec<f32> {
        self.samples.iter().skip(channel).step_by(self.channels).map(|&x| f32::from(x)).collect()
    }

    /// What is wrong with a file that could be read nevertheless.
    pub fn complaint(&self) -> Option<String> {
        truncated(2 * self.samples.len() as u64, self.missing)
    }
}

/// The complaint about a file of which so many bytes are missing behind those that were read.
fn truncated(read: u64, missing: u64) -> Option<String> {
    let expected = read + missing;
    (missing > 0).then(|| {
        format!("Expected {expected} bytes of wave data, but read only {read} bytes. Truncated file?")
    })
}

/// Wave files with their samples.
pub struct WaveHolder;

impl Holder for WaveHolder {
    type T = Wave;

    fn read(r: &mut KaldiReader) -> Result<Wave> {
        let header = Header::read(r)?;
        let limit = header.data_bytes.map_or(u64::MAX, u64::from);
        let mut bytes = Vec::new();
        let name = r.name().to_owned();
        r.take(limit).read_to_end(&mut bytes).map_err(|source| IoError::Io { name, source })?;
        if bytes.is_empty() {
            return Err(r.error(NO_SOUND));
        }
        let announced = header.data_bytes.map_or(0, u64::from);
        let cut = (bytes.len() as u64) < announced;
        bytes.truncate(bytes.len() - bytes.len() % header.block_align as usize);
        let missing = if cut { announced - bytes.len() as u64 } else { 0 };
        let (channels, samples) = (header.channels(), decode(&bytes, header.big_endian));
        Ok(Wave { sample_rate: header.sample_rate, channels, samples, missing })
    }

    fn write(w: &mut KaldiWriter, wave: &Wave) -> Result<()> {
        let (channels, data) = (wave.channels as u64, 2 * wave.samples.len() as u64);
        let too_large = |what: &str| IoError::Value(format!("a wave file cannot have so many {what}"));
        let block = u16::try_from(2 * channels).map_err(|_| too_large("channels"))?;
        let size = u32::try_from(data + 36).map_err(|_| too_large("samples"))?;
        let rate = wave.sample_rate.checked_mul(block.into()).ok_or_else(|| too_large("samples a second"))?;
        let mut bytes = Vec::with_capacity(data as usize + 44);
        bytes.extend([&b"RIFF"[..], &size.to_le_bytes(), b"WAVEfmt ", &16u32.to_le_bytes()].concat());
        bytes.extend([PCM.to_le_bytes(), (block / 2).to_le_bytes()].concat());
        bytes.extend([wave.sample_rate.to_le_bytes(), rate.to_le_bytes()].concat());
        bytes.extend([block.to_le_bytes(), 16u16.to_le_bytes()].concat());
        bytes.extend([&b"data"[..], &(size - 36).to_le_bytes()].concat());
        bytes.extend(wave.samples.iter().flat_map(|x| x.to_le_bytes()));
        w.write_bytes(&bytes)
    }
}

/// 16-bit numbers; an odd byte at the end is left out.
fn decode(bytes: &[u8], big_endian: bool) -> Vec<i16> {
    let number = if big_endian { BigEndian::read_i16 } else { LittleEndian::read_i16 };
    bytes.chunks_exact(2).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct File {
        big_endian: bool,
        channels: u16,
        extensible: bool,
        riff_size: Option<u32>,
        samples: usize,
    }

    const PLAIN: File =
        File { big_endian: false, channels: 1, extensible: false, riff_size: None, samples: 800 };

    impl File {
        fn bytes(&self) -> Vec<u8> {
            let u16 = |x: u16| if self.big_endian { x.to_be_bytes() } else { x.to_le_bytes() };
            let u32 = |x: u32| if self.big_endian { x.to_be_bytes() } else { x.to_le_bytes() };
            let mut format =
                [u16(if self.extensible { EXTENSIBLE } else { PCM }), u16(self.channels)].concat();
            let block = 2 * self.channels;
            format.extend([u32(8000), u32(8000 * u32::from(block))].concat());
            format.extend([u16(block), u16(16)].concat());
            if self.extensible {
                format.extend(u16(22));
                format.extend([0; 6]);
                format.extend(PCM_GUID);
            }
            let mut body = b"WAVEJUNK".to_vec();
            body.extend([&u32(3)[..], b"abcfmt ", &u32(format.len() as u32), &format].concat());
            body.extend([&b"LIST"[..], &u32(2), b"xydata"].concat());
            let data = vec![1; self.samples * usize::from(block)];
            body.extend(u32(data.len() as u32));
            body.extend(data);
            let tag = if self.big_endian { b"RIFX" } else { b"RIFF" };
            [&tag[..], &u32(self.riff_size.unwrap_or(body.len() as u32)), &body].concat()
        }
    }

    fn both(bytes: &[u8]) -> (Result<WaveInfo>, Result<WaveInfo>) {
        let reader = || KaldiReader::from_bytes("f", bytes.to_vec());
        (WaveHeaderHolder::read(&mut reader()), WaveDataHolder::read(&mut reader()))
    }

    #[test]
    fn durations() {
        for file in [
            PLAIN,
            File { big_endian: true, ..PLAIN },
            File { channels: 2, ..PLAIN },
            File { extensible: true, ..PLAIN },
        ] {
            if file.extensible && file.big_endian {
                continue;
            }
            let (header, data) = both(&file.bytes());
            assert_eq!(header.unwrap().duration(), Some(0.1));
            assert_eq!(data.unwrap().duration(), Some(0.1));
        }
    }

    #[test]
    fn streamed_and_cut_files() {
        let (header, data) = both(&File { riff_size: Some(u32::MAX), ..PLAIN }.bytes());
        assert_eq!(header.unwrap().duration(), None);
        assert_eq!(data.unwrap().samples, Some(800));
        let whole = PLAIN.bytes();
        let (header, data) = both(&whole[..whole.len() - 800]);
        assert_eq!((header.unwrap().samples, data.unwrap().samples), (Some(800), Some(400)));
    }

    #[test]
    fn samples_and_what_is_written() {
        let read = |bytes: Vec<u8>| WaveHolder::read(&mut KaldiReader::from_bytes("f", bytes));
        let wave = read(File { channels: 2, samples: 3, ..PLAIN }.bytes()).unwrap();
        assert_eq!((wave.sample_rate, wave.channels, wave.len()), (8000, 2, 3));
        assert_eq!((&wave.samples, wave.complaint()), (&vec![0x0101; 6], None));
        let written = Wave { samples: (-3..3).map(|x| 10_000 * x).collect(), ..wave };
        let mut w = KaldiWriter::in_memory(true);
        WaveHolder::write(&mut w, &written).unwrap();
        let bytes = w.into_bytes();
        assert_eq!((bytes.len(), bytes[40]), (44 + 12, 12));
        let again = read(bytes.clone()).unwrap();
        assert_eq!(again, written);
        assert_eq!(again.channel(1), [-20_000.0, 0.0, 20_000.0]);
        // Cut within the second sample of the right channel.
        let cut = read(bytes[..44 + 7].to_vec()).unwrap();
        assert_eq!(cut.channel(0), [-30_000.0]);
        assert!(cut.complaint().unwrap().contains("Expected 12 bytes"), "{cut:?}");
        let mut stream = WaveStream::new(KaldiReader::from_bytes("f", bytes.clone())).unwrap();
        let mut pieces = || stream.read(2).unwrap();
        assert_eq!((pieces(), pieces(), pieces()), (vec![-30_000.0, -10_000.0], vec![10_000.0], vec![]));
        assert_eq!(stream.complaint(), None);
        let mut stream = WaveStream::new(KaldiReader::from_bytes("f", bytes[..44 + 7].to_vec())).unwrap();
        assert_eq!((stream.read(2).unwrap(), stream.read(2).unwrap()), (vec![-30_000.0], vec![]));
        assert!(stream.complaint().unwrap().contains("Expected 12 bytes"));
        let big = File { big_endian: true, samples: 2, ..PLAIN }.bytes();
        assert_eq!(read(big).unwrap().samples, [0x0101; 2]);
    }

    #[test]
    fn other_kinds_of_files_are_named() {
        let error = |bytes: &[u8]| both(bytes).0.unwrap_err().to_string();
        for (bytes, name) in [(&b"fLaC\0\0"[..], "FLAC"), (b"OggS\0", "Ogg"), (b"NIST_1A", "NIST SPHERE")] {
            assert!(error(bytes).contains(name), "{}", error(bytes));
        }
        let mut compressed = PLAIN.bytes();
        let at = compressed.windows(4).position(|w| w == b"fmt ").unwrap() + 8;
        compressed[at] = 7;
        assert!(error(&compressed).contains("format 7 (mu-law)"), "{}", error(&compressed));
        assert!(error(b"").contains("f"), "{}", error(b""));
    }

    #[test]
    fn what_is_refused() {
        let good = PLAIN.bytes();
        let at = good.windows(4).position(|w| w == b"fmt ").unwrap() + 8;
        for (place, value, why) in
            [(0, b'X', "RIFF"), (8, b'X', "WAVE"), (at, 3, "format 3"), (at + 14, 8, "8 bits")]
        {
            let mut bytes = good.clone();
            bytes[place] = value;
            let error = both(&bytes).0.unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let mut rate = good.clone();
        rate[at + 8] ^= 1;
        assert!(both(&rate).0.unwrap_err().to_string().contains("do not fit"));
        assert!(both(&good[..30]).0.is_err());
        assert!(both(&File { samples: 0, ..PLAIN }.bytes()).1.unwrap_err().to_string().contains("no sound"));
    }
}
