//! A recording from its beginning to its end.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use kaldi_feat::wave;
use kaldi_io::{IoError, KaldiReader};

use crate::channels::{self, Cancelling};
use crate::decoded::Decoded;
use crate::waves::Waves;
use crate::{Channels, Error, RATES, RawForm, Result, Warning};

/// Choices among the sound of a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SoundOptions {
    /// The track of sound, from 1. Without it the default one of the file, with a warning if there are others.
    pub track: Option<usize>,
    /// The form of samples without a header. Without it the recording has a header.
    pub raw: Option<RawForm>,
}

/// A recording after its header.
pub struct SoundStream {
    file: String,
    source: Source,
    /// Compares the channels with their mean, if that is read.
    cancelling: Cancelling,
}

enum Source {
    Wave(Box<Waves>),
    Decoded(Box<Decoded>),
}

impl SoundStream {
    /// Opens a recording (a file, `-` or a command that ends with `|`) and reads its header. A name that is that of a file
    /// is a file, whatever it looks like.
    ///
    /// # Errors
    /// The input cannot be read, or if its sound cannot be decoded.
    pub fn open(rxfilename: &str) -> Result<SoundStream> {
        SoundStream::open_with(rxfilename, &SoundOptions::default())
    }

    /// Does the same as [`open`](Self::open) with choices.
    ///
    /// # Errors
    /// The same as those of [`open`](Self::open), and a track that the recording does not have.
    pub fn open_with(rxfilename: &str, options: &SoundOptions) -> Result<SoundStream> {
        if let Some(form) = options.raw {
            let reader = match Path::new(rxfilename).is_file() {
                true => KaldiReader::from_read(rxfilename, opened(rxfilename)?),
                false => KaldiReader::open_raw(rxfilename)?,
            };
            return SoundStream::new(form.with_header(reader), None, options);
        }
        if is_special(rxfilename) && Path::new(rxfilename).is_file() {
            let reader = KaldiReader::from_read(rxfilename, opened(rxfilename)?);
            return SoundStream::new(reader, Some(rxfilename), options);
        }
        let reader = KaldiReader::open_raw(rxfilename)?;
        let path = (reader.is_file() && reader.position() == 0).then_some(rxfilename);
        SoundStream::new(reader, path, options)
    }

    /// Reads the header of a recording that arrives through a reader, like [`open`](Self::open) of a pipe.
    ///
    /// # Errors
    /// The input cannot be read, or its sound cannot be decoded.
    pub fn from_reader(reader: KaldiReader) -> Result<SoundStream> {
        SoundStream::from_reader_with(reader, &SoundOptions::default())
    }

    /// Does the same as [`from_reader`](Self::from_reader) with choices.
    ///
    /// # Errors
    /// The input cannot be read, its sound cannot be decoded, or the track is not there.
    pub fn from_reader_with(reader: KaldiReader, options: &SoundOptions) -> Result<SoundStream> {
        match options.raw {
            None => SoundStream::new(reader, None, options),
            Some(form) => SoundStream::new(form.with_header(reader), None, options),
        }
    }

    /// Reads the header. `path` is the name of the file if it is one.
    fn new(mut reader: KaldiReader, path: Option<&str>, options: &SoundOptions) -> Result<SoundStream> {
        let file = reader.name().to_owned();
        let begin = reader.peek_bytes(wave::LOOKED_AT)?.to_vec();
        let kind = wave::kind(&begin);
        let is_wave = begin.is_empty() || wave::is_readable(&begin) || kind.is_some_and(wave::is_no_sound);
        let source = if is_wave {
            // (Errors about waves name other kinds of files.)
            let stream = Waves::new(reader, options.raw.is_some())?;
            if let Some(wanted) = options.track.filter(|&track| track != 1) {
                return Err(Error::NoTrack { file, wanted, there: 1 });
            }
            Source::Wave(Box::new(stream))
        } else {
            let known = kind.or(begin.starts_with(b"RIFF").then_some("a RIFF file"));
            let found = match known {
                Some(kind) => kind.to_owned(),
                None => format!("'{}'", begin[..begin.len().min(4)].escape_ascii()),
            };
            let decoded = Decoded::open(reader, found, path, options.track);
            Source::Decoded(Box::new(decoded.map_err(|error| match known {
                Some(_) => error,
                None => without_form(error, &begin),
            })?))
        };
        let stream = SoundStream { file, source, cancelling: Cancelling::default() };
        let rate = stream.sample_rate();
        match RATES.contains(&rate) {
            true => Ok(stream),
            false => Err(Error::Rate { file: stream.file, rate }),
        }
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

    /// Returns the number of channels.
    pub fn channels(&self) -> usize {
        match &self.source {
            Source::Wave(wave) => wave.channels(),
            Source::Decoded(decoded) => decoded.channels(),
        }
    }

    /// The length in seconds that the recording's header has, for estimates: files that are joined to it do not count.
    /// `None` if there is no such length.
    pub fn seconds(&self) -> Option<f64> {
        match &self.source {
            Source::Wave(wave) => wave.seconds(),
            Source::Decoded(decoded) => decoded.seconds(),
        }
    }

    /// The signals that `which` chooses: for each the channel, from 0, or `None` for the mean of all channels.
    ///
    /// # Errors
    /// A channel that the recording does not have.
    pub fn signals(&self, which: Channels) -> Result<Vec<Option<usize>>> {
        let there = self.channels();
        which.signals(there).map_err(|wanted| Error::NoChannel { file: self.file.clone(), wanted, there })
    }

    /// Reads up to `most` samples of each signal, unscaled (16 bits); waits for them. Returns one list for each signal.
    /// They are shorter only where a chunk of a wave file ends, and empty only at the end.
    ///
    /// # Errors
    /// The input cannot be read or decoded.
    pub fn read(&mut self, most: usize, signals: &[Option<usize>]) -> Result<Vec<Vec<f32>>> {
        let samples = match &mut self.source {
            Source::Wave(wave) => wave.read(most)?,
            Source::Decoded(decoded) => decoded.read(most)?,
        };
        let count = self.channels();
        let read: Vec<Vec<f32>> =
            signals.iter().map(|&channel| channels::signal(&samples, count, channel)).collect();
        if count > 1
            && let Some(mean) = signals.iter().position(Option::is_none)
        {
            let rate = self.sample_rate();
            self.cancelling.add(rate, count, &samples, &read[mean]);
        }
        Ok(read)
    }

    /// Faults of the recording as far as it was read; all of them once the end was read.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut all = match &self.source {
            Source::Wave(wave) => wave.warnings(),
            Source::Decoded(decoded) => decoded.warnings(),
        };
        let cancelled = self.cancelling.found(self.sample_rate());
        all.extend(cancelled.map(|(at, seconds)| Warning::Cancelled { at, seconds }));
        all
    }

    /// Closes the input; fails if it is a pipe and its command failed.
    ///
    /// # Errors
    /// The input is a pipe, and its command failed.
    pub fn close(self) -> Result<()> {
        match self.source {
            Source::Wave(wave) => Ok(wave.close()?),
            Source::Decoded(_) => Ok(()),
        }
    }
}

fn opened(file: &str) -> Result<File> {
    let failed = |source| IoError::Open { name: file.to_owned(), source };
    Ok(File::open(file).map_err(failed)?)
}

/// The error of bytes that have no form of sound, if no decoder could read them: it says what they look like.
fn without_form(error: Error, begin: &[u8]) -> Error {
    match error {
        Error::NoSound { file, reason, .. } | Error::NoDecoder { file, reason, .. } => {
            Error::NoForm { file, found: looks_like(begin), reason }
        }
        Error::Program { file, message } if message.contains(UNKNOWN_TO_FFMPEG) => {
            Error::NoForm { file, found: looks_like(begin), reason: message }
        }
        other => other,
    }
}

/// The message of ffmpeg for bytes of an unknown format.
const UNKNOWN_TO_FFMPEG: &str = "Invalid data found";

/// A description of the first bytes of a file that is no recording.
fn looks_like(begin: &[u8]) -> String {
    if is_text(begin) { "a text" } else { "bytes of no known form" }.to_owned()
}

/// Bytes by which a text is told.
const TEXT: u64 = 1024;

/// True if a file is a text, by its first bytes. It can be known before anything else is done; a file that cannot be read is none.
pub fn is_text_file(file: &Path) -> bool {
    let mut begin = Vec::new();
    let read = File::open(file).and_then(|file| file.take(TEXT).read_to_end(&mut begin));
    read.is_ok() && is_text(&begin) && wave::kind(&begin).is_none()
}

fn is_text(begin: &[u8]) -> bool {
    let valid = match std::str::from_utf8(begin) {
        Ok(text) => text,
        // (The last character may be cut.)
        Err(error) if begin.len() - error.valid_up_to() < 4 => {
            std::str::from_utf8(&begin[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => "",
    };
    !valid.is_empty() && valid.chars().all(|c| !c.is_control() || c.is_whitespace())
}

/// True for names that are more than the name of a file: a command, an offset.
fn is_special(name: &str) -> bool {
    name != "-" && (name.contains(['|', ':']) || name.trim() != name)
}
