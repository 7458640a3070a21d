//! The chunks of a wave file before its samples.

use byteorder::{BigEndian, ByteOrder, LittleEndian};
use kaldi_io::KaldiReader;

use super::{EXTENSIBLE, PCM, PCM_GUID, Result, skip};

/// Sizes that mean "unknown"; the last one is what SoX writes.
const UNKNOWN_RIFF_SIZES: [u32; 2] = [0, u32::MAX];
const UNKNOWN_DATA_SIZES: [u32; 3] = [0, u32::MAX, 0x7fff_f000];
/// First bytes of sound files that are no wave files.
const OTHER_FILES: [(&[u8], &str); 6] = [
    (b"fLaC", "a FLAC file"),
    (b"OggS", "an Ogg file"),
    (b"NIST", "a NIST SPHERE file"),
    (b"ID3", "an MP3 file"),
    (b"FORM", "an AIFF file"),
    (b".snd", "an AU file"),
];

/// A coding of samples by its number in the format chunk.
fn coding(format: u16) -> String {
    let name = match format {
        2 | 0x11 => "ADPCM",
        3 => "floating point",
        6 => "A-law",
        7 => "mu-law",
        0x31 => "GSM 6.10",
        0x50 | 0x55 => "MPEG",
        _ => return format!("format {format}"),
    };
    format!("format {format} ({name})")
}

pub(super) struct Header {
    pub sample_rate: u32,
    pub big_endian: bool,
    /// Bytes of one sample of all channels.
    pub block_align: u64,
    /// `None` if unknown.
    pub data_bytes: Option<u32>,
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
                let found = coding(LittleEndian::read_u16(&extension[8..]));
                return Err(self
                    .r
                    .error(format!("expected 16-bit PCM, found the extensible format with {found}")));
            }
        } else if format != PCM || size < read {
            return Err(self.r.error(format!("expected 16-bit PCM, found {}", coding(format))));
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
    pub fn channels(&self) -> usize {
        self.block_align as usize / 2
    }

    pub fn read(r: &mut KaldiReader) -> Result<Header> {
        r.set_binary(true);
        let mut chunks = Chunks { r, big_endian: false };
        let tag = chunks.tag()?;
        chunks.big_endian = match &tag {
            b"RIFF" => false,
            b"RIFX" => true,
            _ => {
                let other = OTHER_FILES.iter().find(|(mark, _)| tag.starts_with(mark));
                let found =
                    other.map_or_else(|| format!("'{}'", tag.escape_ascii()), |(_, name)| (*name).to_owned());
                return Err(chunks.r.error(format!("expected a wave file (RIFF or RIFX), found {found}")));
            }
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
        let big_endian = chunks.big_endian;
        Ok(Header { sample_rate, big_endian, block_align, data_bytes: (!unknown).then_some(data_size) })
    }
}
