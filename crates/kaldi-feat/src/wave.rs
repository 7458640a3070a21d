//! How long the sound in a WAVE file is: RIFF or RIFX with 16-bit PCM.
//!
//! Streamed files, whose writer did not know the length, have impossible sizes in their headers; then only the data say
//! how many samples there are.

use std::io::Read;

use byteorder::{BigEndian, ByteOrder, LittleEndian};
use kaldi_io::holder::Holder;
use kaldi_io::{IoError, KaldiReader, KaldiWriter};

type Result<T> = std::result::Result<T, IoError>;

const PCM: u16 = 1;
const EXTENSIBLE: u16 = 0xfffe;
/// The sub-format PCM of extensible files (KSDATAFORMAT_SUBTYPE_PCM).
const PCM_GUID: [u8; 16] = [1, 0, 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];
/// Sizes that mean "unknown"; the last one is what SoX writes.
const UNKNOWN_RIFF_SIZES: [u32; 2] = [0, u32::MAX];
const UNKNOWN_DATA_SIZES: [u32; 3] = [0, u32::MAX, 0x7fff_f000];

#[derive(Debug, Clone, PartialEq)]
pub struct Wave {
    /// In Hz.
    pub sample_rate: u32,
    /// Of each channel; unknown if the header does not say it and the data were not read.
    pub samples: Option<u64>,
}

impl Wave {
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
    Err(IoError::Value("wave files are only read".to_owned()))
}

impl Holder for WaveHeaderHolder {
    type T = Wave;

    fn read(r: &mut KaldiReader) -> Result<Wave> {
        let header = Header::read(r)?;
        let samples = header.data_bytes.map(|bytes| u64::from(bytes) / header.block_align);
        Ok(Wave { sample_rate: header.sample_rate, samples })
    }

    fn write(_: &mut KaldiWriter, _: &Wave) -> Result<()> {
        only_read()
    }
}

impl Holder for WaveDataHolder {
    type T = Wave;

    fn read(r: &mut KaldiReader) -> Result<Wave> {
        let header = Header::read(r)?;
        let limit = header.data_bytes.map_or(u64::MAX, u64::from);
        let bytes = skip(r, limit)?;
        if bytes == 0 {
            return Err(r.error("there are no sound data"));
        }
        Ok(Wave { sample_rate: header.sample_rate, samples: Some(bytes / header.block_align) })
    }

    fn write(_: &mut KaldiWriter, _: &Wave) -> Result<()> {
        only_read()
    }
}

/// Reads up to `limit` bytes and says how many there were.
fn skip(r: &mut KaldiReader, limit: u64) -> Result<u64> {
    std::io::copy(&mut r.take(limit), &mut std::io::sink())
        .map_err(|source| IoError::Io { name: r.name().to_owned(), source })
}

struct Header {
    sample_rate: u32,
    /// Bytes of one sample of all channels.
    block_align: u64,
    /// `None` if unknown.
    data_bytes: Option<u32>,
}

/// Chunks of a file whose byte order is known.
struct Chunks<'r> {
    r: &'r mut KaldiReader,
    big_endian: bool,
}

impl Chunks<'_> {
    fn tag(&mut self) -> Result<[u8; 4]> {
        let mut tag = [0; 4];
        self.r.read_exact(&mut tag)?;
        Ok(tag)
    }

    fn u32(&mut self) -> Result<u32> {
        let bytes = self.tag()?;
        Ok(if self.big_endian { BigEndian::read_u32(&bytes) } else { LittleEndian::read_u32(&bytes) })
    }

    fn u16(&mut self) -> Result<u16> {
        let mut bytes = [0; 2];
        self.r.read_exact(&mut bytes)?;
        Ok(if self.big_endian { BigEndian::read_u16(&bytes) } else { LittleEndian::read_u16(&bytes) })
    }

    /// Skips chunks up to the one with this tag, which is consumed.
    fn find(&mut self, wanted: &[u8; 4]) -> Result<()> {
        while self.tag()? != *wanted {
            let size = u64::from(self.u32()?);
            if skip(self.r, size)? < size {
                let wanted = String::from_utf8_lossy(wanted);
                return Err(self.r.error(format!("expected a chunk '{wanted}', found the end of the file")));
            }
        }
        Ok(())
    }

    fn format(&mut self) -> Result<(u32, u64)> {
        let size = self.u32()?;
        let format = self.u16()?;
        let channels = self.u16()?;
        let sample_rate = self.u32()?;
        let byte_rate = self.u32()?;
        let block_align = self.u16()?;
        let bits = self.u16()?;
        let mut read = 16;
        if format == EXTENSIBLE {
            let mut extension = [0; 24];
            self.r.read_exact(&mut extension)?;
            read = 40;
            if size < read || extension[8..] != PCM_GUID {
                return Err(self.r.error("expected 16-bit PCM, found another extensible format"));
            }
        } else if format != PCM || size < read {
            return Err(self.r.error(format!("expected 16-bit PCM, found format {format}")));
        }
        skip(self.r, u64::from(size - read))?;
        if bits != 16 || channels == 0 || sample_rate == 0 {
            return Err(self.r.error(format!(
                "expected 16-bit samples of at least one channel, found {bits} bits, {channels} channels, \
                 {sample_rate} Hz"
            )));
        }
        let block = 2 * u32::from(channels);
        if u32::from(block_align) != block
            || u64::from(byte_rate) != u64::from(sample_rate) * u64::from(block)
        {
            return Err(self.r.error(format!(
                "{block_align} bytes a sample and {byte_rate} a second do not fit {channels} channels at \
                 {sample_rate} Hz"
            )));
        }
        Ok((sample_rate, block.into()))
    }
}

impl Header {
    fn read(r: &mut KaldiReader) -> Result<Header> {
        r.set_binary(true);
        let mut chunks = Chunks { r, big_endian: false };
        chunks.big_endian = match &chunks.tag()? {
            b"RIFF" => false,
            b"RIFX" => true,
            _ => return Err(chunks.r.error("expected a wave file (RIFF or RIFX)")),
        };
        let riff_size = chunks.u32()?;
        if chunks.tag()? != *b"WAVE" {
            return Err(chunks.r.error("expected a RIFF file of type WAVE"));
        }
        chunks.find(b"fmt ")?;
        let (sample_rate, block_align) = chunks.format()?;
        chunks.find(b"data")?;
        let data_size = chunks.u32()?;
        let unknown = UNKNOWN_RIFF_SIZES.contains(&riff_size) || UNKNOWN_DATA_SIZES.contains(&data_size);
        Ok(Header { sample_rate, block_align, data_bytes: (!unknown).then_some(data_size) })
    }
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

    fn both(bytes: &[u8]) -> (Result<Wave>, Result<Wave>) {
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
