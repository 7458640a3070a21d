//! Chunks of wave files, and the headers before the samples: RIFF, RIFX (big-endian), RF64 and BW64 (64-bit sizes).

use byteorder::{BigEndian, ByteOrder, LittleEndian};
use kaldi_io::{IoError, KaldiReader};

use super::coding::Coding;
use super::{EXTENSIBLE, GUID_TAIL, PCM, Result, kinds};

/// Sizes that mean "unknown". SoX writes the last one.
const UNKNOWN_RIFF_SIZES: [u64; 2] = [0, u32::MAX as u64];
const UNKNOWN_DATA_SIZES: [u64; 3] = [0, u32::MAX as u64, 0x7fff_f000];
/// A 32-bit size that stands for one in the chunk `ds64`.
const SIZE_ELSEWHERE: u64 = u32::MAX as u64;
/// Bytes of a chunk's name and size.
pub(super) const CHUNK_HEADER: usize = 8;
/// More sizes than a file has chunks.
const MOST_SIZES: usize = 1000;

/// The name of a coding of samples by its number in the format chunk.
fn coding_name(format: u16) -> String {
    let name = match format {
        PCM => return "PCM".to_owned(),
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

/// Sizes of 64 bits, by the chunk's name.
#[derive(Default)]
struct LongSizes {
    riff: u64,
    data: u64,
    others: Vec<([u8; 4], u64)>,
}

/// True if a file that begins like this is a wave file with a coding of samples that is read.
pub fn is_readable(begin: &[u8]) -> bool {
    let magic = [&b"RIFF"[..], b"RIFX", b"RF64", b"BW64"].iter().any(|magic| begin.starts_with(magic));
    if !magic || begin.get(8..12) != Some(b"WAVE") {
        return false;
    }
    let u16_at = if begin.starts_with(b"RIFX") { BigEndian::read_u16 } else { LittleEndian::read_u16 };
    let format = begin.windows(4).position(|name| name == b"fmt ").and_then(|at| begin.get(at + 8..));
    match format {
        Some(format) if format.len() >= 26 => {
            let coding = u16_at(format);
            let coding = if coding == EXTENSIBLE { u16_at(&format[24..]) } else { coding };
            Coding::of(coding, u16_at(&format[14..])).is_some()
        }
        _ => true,
    }
}

pub(super) struct Header {
    pub sample_rate: u32,
    pub big_endian: bool,
    pub coding: Coding,
    /// Bytes of one sample of all channels.
    pub block_align: u64,
    /// Bytes of the first chunk of samples. `None` if unknown.
    pub data_bytes: Option<u64>,
    /// The position behind the last chunk, as the header has it. `None` if unknown.
    pub end: Option<u64>,
    long: Option<LongSizes>,
}

/// A chunk's name and size, as they follow each other.
pub(super) struct Chunk {
    pub name: [u8; 4],
    pub size: u64,
}

impl Header {
    pub fn channels(&self) -> usize {
        self.block_align as usize / self.coding.bytes()
    }

    /// Reads up to the first sample.
    pub fn read(r: &mut KaldiReader) -> Result<Header> {
        r.set_binary(true);
        let mut header = Header {
            sample_rate: 0,
            big_endian: false,
            coding: Coding::Linear(2),
            block_align: 0,
            data_bytes: None,
            end: None,
            long: None,
        };
        let begin = r.peek_bytes(kinds::LOOKED_AT)?.to_vec();
        let long = begin.starts_with(b"RF64") || begin.starts_with(b"BW64");
        header.big_endian = begin.starts_with(b"RIFX");
        if begin.get(..12).is_none_or(|b| &b[8..] != b"WAVE") || !(long || matches!(&begin[..3], b"RIF")) {
            return Err(no_wave(r, &begin));
        }
        let start = r.position() + CHUNK_HEADER as u64;
        let mut riff = header.chunk_header(r)?.size;
        r.read_exact(&mut [0; 4])?;
        if long {
            let chunk = header.chunk_header(r)?;
            if chunk.name != *b"ds64" {
                return Err(r.error("expected the chunk 'ds64' of an RF64 file"));
            }
            let sizes = long_sizes(r, chunk.size)?;
            if riff == SIZE_ELSEWHERE {
                riff = sizes.riff;
            }
            header.long = Some(sizes);
        }
        let data = header.up_to_data(r)?;
        let unknown = UNKNOWN_RIFF_SIZES.contains(&riff) || UNKNOWN_DATA_SIZES.contains(&data);
        if !unknown {
            header.data_bytes = Some(data);
            header.end = start.checked_add(riff);
        }
        Ok(header)
    }

    fn chunk_header(&self, r: &mut KaldiReader) -> Result<Chunk> {
        let mut bytes = [0; CHUNK_HEADER];
        r.read_exact(&mut bytes)?;
        Ok(self.parse_chunk(bytes))
    }

    pub fn parse_chunk(&self, bytes: [u8; CHUNK_HEADER]) -> Chunk {
        let name = [bytes[0], bytes[1], bytes[2], bytes[3]];
        let size = if self.big_endian { BigEndian::read_u32 } else { LittleEndian::read_u32 }(&bytes[4..]);
        let size = match &self.long {
            Some(long) if u64::from(size) == SIZE_ELSEWHERE => match &name {
                b"data" => long.data,
                _ => long.others.iter().find(|(of, _)| *of == name).map_or(SIZE_ELSEWHERE, |(_, size)| *size),
            },
            _ => size.into(),
        };
        Chunk { name, size }
    }

    /// Reads the format; returns the size of the first chunk of samples.
    fn up_to_data(&mut self, r: &mut KaldiReader) -> Result<u64> {
        loop {
            let wanted = if self.block_align == 0 { "fmt " } else { "data" };
            if r.at_eof()? {
                return Err(r.error(format!("expected a chunk '{wanted}', found the end of the file")));
            }
            let chunk = self.chunk_header(r)?;
            match &chunk.name {
                b"fmt " if self.block_align == 0 => self.read_format(r, chunk.size)?,
                b"data" if self.block_align == 0 => {
                    return Err(r.error("samples come before their format (chunk 'fmt ')"));
                }
                b"data" => return Ok(chunk.size),
                _ => {
                    if r.skip_bytes(chunk.size)? < chunk.size {
                        return Err(
                            r.error(format!("expected a chunk '{wanted}', found the end of the file"))
                        );
                    }
                }
            }
            skip_pad(r, chunk.size)?;
        }
    }

    fn read_format(&mut self, r: &mut KaldiReader, size: u64) -> Result<()> {
        let mut bytes = [0; 16];
        r.read_exact(&mut bytes)?;
        let u16_at = if self.big_endian { BigEndian::read_u16 } else { LittleEndian::read_u16 };
        let u32_at = if self.big_endian { BigEndian::read_u32 } else { LittleEndian::read_u32 };
        let (mut format, channels, bits) = (u16_at(&bytes), u16_at(&bytes[2..]), u16_at(&bytes[14..]));
        let (sample_rate, byte_rate) = (u32_at(&bytes[4..]), u32_at(&bytes[8..]));
        let block_align = u16_at(&bytes[12..]);
        let mut read = 16;
        let extensible = format == EXTENSIBLE;
        if extensible {
            let mut extension = [0; 24];
            r.read_exact(&mut extension)?;
            (read, format) = (40, u16_at(&extension[8..]));
            if extension[10..] != GUID_TAIL {
                return Err(unusable(r, "the extensible format with an unknown coding"));
            }
        }
        let found = || {
            let kind = if extensible { "the extensible format with " } else { "" };
            format!("{kind}{}, {bits} bits, {channels} channels, {sample_rate} Hz", coding_name(format))
        };
        let coding = Coding::of(format, bits).filter(|_| size >= read && channels > 0 && sample_rate > 0);
        let Some(coding) = coding else { return Err(unusable(r, &found())) };
        r.skip_bytes(size - read)?;
        let block = coding.bytes() as u32 * u32::from(channels);
        if u32::from(block_align) != block
            || u64::from(byte_rate) != u64::from(sample_rate) * u64::from(block)
        {
            return Err(r.error(format!(
                "{block_align} bytes a sample and {byte_rate} a second do not fit {}",
                found()
            )));
        }
        self.coding = coding;
        (self.sample_rate, self.block_align) = (sample_rate, block.into());
        Ok(())
    }
}

/// Reads the sizes that an RF64 file has in 64 bits: of the file, the samples, and other chunks.
fn long_sizes(r: &mut KaldiReader, size: u64) -> Result<LongSizes> {
    const FIXED: u64 = 28;
    const ROW: u64 = 12;
    let mut bytes = [0; FIXED as usize];
    r.read_exact(&mut bytes)?;
    let count = LittleEndian::read_u32(&bytes[24..]) as usize;
    let there = size.saturating_sub(FIXED) / ROW;
    if size < FIXED || count as u64 > there || count > MOST_SIZES {
        return Err(r.error(format!("a chunk 'ds64' of {size} bytes with {count} sizes")));
    }
    let mut sizes = LongSizes {
        riff: LittleEndian::read_u64(&bytes),
        data: LittleEndian::read_u64(&bytes[8..]),
        others: Vec::new(),
    };
    for _ in 0..count {
        let mut row = [0; ROW as usize];
        r.read_exact(&mut row)?;
        sizes.others.push(([row[0], row[1], row[2], row[3]], LittleEndian::read_u64(&row[4..])));
    }
    r.skip_bytes(size - FIXED - ROW * count as u64)?;
    skip_pad(r, size)?;
    Ok(sizes)
}

/// Skips the byte after a chunk of odd size. If the writer has left it out, the next chunk's name follows at once.
pub(super) fn skip_pad(r: &mut KaldiReader, size: u64) -> Result<()> {
    if size.is_multiple_of(2) {
        return Ok(());
    }
    let next = r.peek_bytes(5)?;
    let is_pad = match next {
        [] => false,
        [first, ..] if !is_name_byte(*first) => true,
        _ => matches!(next.get(1..), Some(b"fmt " | b"data")),
    };
    if is_pad {
        r.skip_bytes(1)?;
    }
    Ok(())
}

/// True of bytes that names of chunks consist of.
pub(super) fn is_name_byte(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte)
}

/// The error about a file that begins with other bytes than a wave file.
fn no_wave(r: &mut KaldiReader, begin: &[u8]) -> IoError {
    let known = kinds::name(begin);
    let found = match (known, begin) {
        (Some(name), _) => name.to_owned(),
        (None, []) => return r.error("expected a wave file, found the end of the file"),
        (None, [b'R', b'I', b'F', b'F' | b'X', _, _, _, _, kind @ ..]) => {
            let kind = &kind[..kind.len().min(4)];
            format!("a RIFF file of type '{}', not WAVE", kind.escape_ascii())
        }
        (None, _) => format!("'{}'", begin[..begin.len().min(4)].escape_ascii()),
    };
    // (The advice is about a whole input.)
    let advice = if known.is_some() && r.position() == 0 { kinds::advice(r, &found) } else { String::new() };
    r.error(format!("expected a wave file (RIFF, RIFX, RF64), found {found}{advice}"))
}

/// Returns the error for a wave file with a coding of samples that is not read.
fn unusable(r: &KaldiReader, found: &str) -> IoError {
    let advice = kinds::advice(r, found);
    r.error(format!("expected PCM of 8 to 32 bits, floating point, A-law or mu-law, found {found}{advice}"))
}
