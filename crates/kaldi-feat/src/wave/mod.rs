//! Wave files: RIFF, RIFX, RF64 or BW64 with PCM, floating point, A-law or µ-law. A file is read as a whole, in pieces, or only for its length.
//!
//! Samples may lie in several chunks `data`. Bytes behind the samples that belong to no chunk cause a warning. The
//! writer of a streamed file does not know the length, and writes impossible sizes into the headers. Then the number of
//! samples follows from the data.

mod audio;
mod body;
mod coding;
mod header;
mod kinds;
mod next;
mod stream;

use kaldi_io::holder::Holder;
use kaldi_io::{Contents, IoError, KaldiReader, KaldiWriter};

use body::Body;
use header::Header;
pub use header::is_readable;
pub use kinds::{LOOKED_AT, is_no_sound, is_sound, name as kind};
pub use next::{Found, find};
pub use stream::WaveStream;

type Result<T> = std::result::Result<T, IoError>;

/// Sampling rates in Hz that recorders have. Recordings of people with other rates are refused: a resampler would need
/// tables beyond reason.
pub const RATES: std::ops::RangeInclusive<u32> = 1000..=192_000;

/// Bytes of one read.
const PIECE: usize = 1 << 18;
const NO_SOUND: &str = "there are no sound data";
const PCM: u16 = 1;
const EXTENSIBLE: u16 = 0xfffe;
/// The sub-format of extensible files behind the number of the coding (KSDATAFORMAT_SUBTYPE_PCM and its like).
const GUID_TAIL: [u8; 14] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];

#[derive(Debug, Clone, PartialEq)]
pub struct WaveInfo {
    /// In Hz.
    pub sample_rate: u32,
    pub channels: usize,
    /// Number of samples in each channel.
    pub samples: u64,
    /// The fault of a file that can be used nevertheless.
    pub complaint: Option<String>,
    /// True if the header lacks the length, so that the data were read to their end.
    pub is_streamed: bool,
}

impl WaveInfo {
    /// In seconds.
    pub fn duration(&self) -> f32 {
        self.samples as f32 / self.sample_rate as f32
    }
}

/// A wave file whose headers alone are read. From a pipe, only the bytes before the samples are read. If the header lacks
/// the length, the data are read, too. It must not lie in an archive that is read sequentially.
pub struct WaveHeaderHolder;

/// Wave files that are read to their end, to see how long they really are.
pub struct WaveDataHolder;

/// True for contents that errors about waves name already: other sound begins with letters, too.
fn is_named(contents: &Contents) -> bool {
    matches!(contents, Contents::Wave | Contents::Text)
}

fn only_read() -> Result<()> {
    Err(IoError::Value("lengths of wave files are only read".to_owned()))
}

impl Holder for WaveHeaderHolder {
    type T = WaveInfo;

    fn read(r: &mut KaldiReader) -> Result<WaveInfo> {
        let sound = audio::enter(r)?;
        let mut body = Body::new(r, false)?;
        match body.announced() {
            Some(first) if r.is_file() && sound.is_none() => {
                body.skip(r)?;
                // (Other chunks may have followed the first one.)
                Ok(info(&body, body.announced().unwrap_or(first), body.complaint()))
            }
            Some(bytes) => Ok(info(&body, bytes, None)),
            None => whole(r, body),
        }
    }

    fn reads(contents: &Contents) -> bool {
        is_named(contents)
    }

    fn write(_: &mut KaldiWriter, _: &WaveInfo) -> Result<()> {
        only_read()
    }
}

impl Holder for WaveDataHolder {
    type T = WaveInfo;

    fn read(r: &mut KaldiReader) -> Result<WaveInfo> {
        let sound = audio::enter(r)?;
        let body = Body::new(r, false)?;
        let info = whole(r, body)?;
        audio::leave(r, sound)?;
        Ok(info)
    }

    fn reads(contents: &Contents) -> bool {
        is_named(contents)
    }

    fn write(_: &mut KaldiWriter, _: &WaveInfo) -> Result<()> {
        only_read()
    }
}

/// Reads the samples to their end.
fn whole(r: &mut KaldiReader, mut body: Body) -> Result<WaveInfo> {
    let bytes = body.skip(r)?;
    if bytes == 0 {
        return Err(r.error(NO_SOUND));
    }
    Ok(info(&body, bytes, body.complaint()))
}

fn info(body: &Body, bytes: u64, complaint: Option<String>) -> WaveInfo {
    let header = &body.header;
    WaveInfo {
        sample_rate: header.sample_rate,
        channels: header.channels(),
        samples: bytes / header.block_align,
        complaint,
        is_streamed: body.announced().is_none(),
    }
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
    /// The fault of a file that could be read nevertheless.
    pub complaint: Option<String>,
}

impl Wave {
    /// Makes a wave of one or more signals of equal lengths, one for each channel. Samples are rounded towards 0.
    /// Samples out of range are clipped, and the number of clipped samples is returned.
    pub fn from_channels(sample_rate: u32, channels: &[Vec<f32>]) -> (Wave, u64) {
        let mut clipped = 0;
        let mut sample = |value: f32| {
            let whole = value.trunc();
            clipped += u64::from(!(f32::from(i16::MIN)..=f32::from(i16::MAX)).contains(&whole));
            whole as i16
        };
        let length = channels.iter().map(Vec::len).min().unwrap_or(0);
        let mut samples = Vec::with_capacity(length * channels.len());
        for t in 0..length {
            samples.extend(channels.iter().map(|channel| sample(channel[t])));
        }
        (Wave { sample_rate, channels: channels.len(), samples, complaint: None }, clipped)
    }

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
}

/// Wave files with their samples.
pub struct WaveHolder;

impl Holder for WaveHolder {
    type T = Wave;

    fn read(r: &mut KaldiReader) -> Result<Wave> {
        let sound = audio::enter(r)?;
        let mut body = Body::new(r, false)?;
        let mut samples = Vec::new();
        let mut bytes = vec![0; body.whole_samples(PIECE)];
        loop {
            let read = body.read(r, &mut bytes)?;
            if read == 0 {
                break;
            }
            body.decode(&bytes[..read], &mut samples);
        }
        if samples.is_empty() {
            return Err(r.error(NO_SOUND));
        }
        audio::leave(r, sound)?;
        let Header { sample_rate, .. } = body.header;
        Ok(Wave { sample_rate, channels: body.header.channels(), samples, complaint: body.complaint() })
    }

    fn reads(contents: &Contents) -> bool {
        is_named(contents)
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

#[cfg(test)]
mod tests;
