//! A recording from its beginning to its end.

use std::fs::File;
use std::io::{Cursor, Read};
use std::sync::Mutex;

use kaldi_feat::wave::{self, WaveStream};
use kaldi_io::{IoError, KaldiReader};
use symphonia::core::io::{MediaSource, ReadOnlySource};

use crate::decoded::{Decoded, NotDecoded};
use crate::{Channels, Error, Result, channels, ffmpeg};

/// A recording after its header.
pub struct SoundStream {
    file: String,
    source: Source,
}

enum Source {
    Wave(Box<WaveStream>),
    Decoded(Box<Decoded>),
}

impl Source {
    fn wave(reader: KaldiReader) -> Result<Source> {
        Ok(Source::Wave(Box::new(WaveStream::new(reader)?)))
    }
}

/// A reader that two threads may have, as symphonia demands.
struct Shared(Mutex<KaldiReader>);

impl Read for Shared {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.0.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner()).read(out)
    }
}

/// Kinds of files that need not begin with what a decoder reads first.
const NEED_SEEKING: [&str; 5] = ["MP4", "M4A", "QuickTime", "3GP", "CAF"];
/// Kinds of files that symphonia surely decodes; others may hold sound in codings that it lacks.
const DECODED: [&str; 6] = ["FLAC", "MP3", "AIFF", "CAF", "Vorbis", "ADTS"];

fn is_one_of(kinds: &[&str], found: &str) -> bool {
    kinds.iter().any(|kind| found.contains(kind))
}

/// The rest of a pipe for symphonia; read as a whole if the decoder has to seek.
fn media(mut reader: KaldiReader, found: &str) -> Result<Box<dyn MediaSource>> {
    if !is_one_of(&NEED_SEEKING, found) {
        return Ok(Box::new(ReadOnlySource::new(Shared(Mutex::new(reader)))));
    }
    let mut bytes = Vec::new();
    reader
        .read_to_end(&mut bytes)
        .map_err(|source| IoError::Io { name: reader.name().to_owned(), source })?;
    Ok(Box::new(Cursor::new(bytes)))
}

impl SoundStream {
    /// Opens a recording (a file, `-` or a command that ends with `|`) and reads its header. Fails if the input cannot be
    /// read, or if its sound cannot be decoded.
    pub fn open(rxfilename: &str) -> Result<SoundStream> {
        let reader = KaldiReader::open_raw(rxfilename)?;
        let again = reader.is_file().then_some(rxfilename);
        SoundStream::new(reader, again)
    }

    /// Reads the header of a recording that arrives through a reader, like [`open`](Self::open) of a pipe.
    pub fn from_reader(reader: KaldiReader) -> Result<SoundStream> {
        SoundStream::new(reader, None)
    }

    /// Reads the header. A decoder that fails leaves the file `again` for ffmpeg.
    fn new(mut reader: KaldiReader, again: Option<&str>) -> Result<SoundStream> {
        let file = reader.name().to_owned();
        let begin = reader.peek_bytes(wave::LOOKED_AT)?.to_vec();
        let kind = wave::kind(&begin);
        if begin.is_empty() || wave::is_readable(&begin) || kind.is_some_and(wave::is_no_sound) {
            // (Errors about waves name other kinds of files.)
            return Ok(SoundStream { file, source: Source::wave(reader)? });
        }
        let found = match kind {
            Some(kind) => kind.to_owned(),
            None if begin.starts_with(b"RIFF") => "a RIFF file".to_owned(),
            None => format!("'{}'", begin[..begin.len().min(4)].escape_ascii()),
        };
        // A file can be opened again for ffmpeg. The decoder of a pipe is chosen before it is read.
        let decoded = if let Some(again) = again {
            let again = File::open(again).map_err(|source| IoError::Io { name: file.clone(), source })?;
            Decoded::open(&file, Box::new(again))
        } else if ffmpeg::is_installed() && !is_one_of(&DECODED, &found) {
            Err(NotDecoded::new("it comes through a pipe"))
        } else {
            let decoded = Decoded::open(&file, media(reader, &found)?);
            let decoded = decoded.map_err(|failed| failed.into_error(&file, found))?;
            return Ok(SoundStream { file, source: Source::Decoded(Box::new(decoded)) });
        };
        let source = match decoded {
            Ok(decoded) => Source::Decoded(Box::new(decoded)),
            Err(_) if ffmpeg::is_installed() => Source::wave(ffmpeg::convert(reader)?)?,
            Err(failed) => return Err(failed.into_error(&file, found)),
        };
        Ok(SoundStream { file, source })
    }

    /// The name of the recording, for messages.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// In Hz.
    pub fn sample_rate(&self) -> u32 {
        match &self.source {
            Source::Wave(wave) => wave.sample_rate(),
            Source::Decoded(decoded) => decoded.sample_rate(),
        }
    }

    pub fn channels(&self) -> usize {
        match &self.source {
            Source::Wave(wave) => wave.channels(),
            Source::Decoded(decoded) => decoded.channels(),
        }
    }

    /// The signals that `which` chooses: for each the channel, from 0, or `None` for the mean of all channels.
    pub fn signals(&self, which: Channels) -> Result<Vec<Option<usize>>> {
        let there = self.channels();
        which.signals(there).map_err(|wanted| Error::NoChannel { file: self.file.clone(), wanted, there })
    }

    /// Reads up to `most` samples of each signal, unscaled (16 bits); waits for them. Returns one list for each signal.
    /// They are shorter only where a chunk of a wave file ends, and empty only at the end.
    pub fn read(&mut self, most: usize, signals: &[Option<usize>]) -> Result<Vec<Vec<f32>>> {
        let samples = match &mut self.source {
            Source::Wave(wave) => wave.read_all(most)?,
            Source::Decoded(decoded) => decoded.read(most)?,
        };
        let count = self.channels();
        Ok(signals.iter().map(|&channel| channels::signal(&samples, count, channel)).collect())
    }

    /// The fault of the file, once all of it was read.
    pub fn complaint(&self) -> Option<String> {
        match &self.source {
            Source::Wave(wave) => wave.complaint(),
            Source::Decoded(decoded) => decoded.complaint(),
        }
    }

    /// Closes the input; fails if it is a pipe and its command failed.
    pub fn close(self) -> Result<()> {
        match self.source {
            Source::Wave(wave) => Ok(wave.close()?),
            Source::Decoded(_) => Ok(()),
        }
    }
}
