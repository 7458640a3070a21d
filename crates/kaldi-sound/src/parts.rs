//! The files of which a recording consists, one after the other, each with a decoder.

use std::collections::VecDeque;
use std::fs::File;
use std::io;

use kaldi_io::{IoError, KaldiReader};

use crate::blocks::{Blocks, NotDecoded};
use crate::demuxed::{Demuxed, Kind, Known};
use crate::ffmpeg::{self, Converted, Source};
use crate::input::Input;
use crate::mpeg::Frames;
use crate::scan::{self, Finding};
use crate::spooled::{self, Window};
use crate::streams::Streams;
use crate::{Error, Result, matroska, mp4, sizes};

/// Bytes that are read at most to find the reason why a stream cannot be decoded.
const MOST_EXPLAINED: u64 = 1 << 22;
/// The largest number of files that ffmpeg decodes one after the other.
const MOST_PARTS: u32 = 1000;

/// Kinds of files whose index need not be at the beginning.
const NEED_SEEKING: [&str; 13] = [
    "MP4",
    "M4A",
    "QuickTime",
    "3GP",
    "CAF",
    "AVI",
    "Windows Media",
    "Windows TV",
    "RealMedia",
    "Monkey",
    "True Audio",
    "WavPack",
    "DSD",
];
/// Those among them that symphonia reads.
const MP4: [&str; 4] = ["MP4", "M4A", "QuickTime", "3GP"];

pub(crate) fn is_one_of(kinds: &[&str], found: &str) -> bool {
    kinds.iter().any(|kind| found.contains(kind))
}

/// All files of a recording.
pub(crate) struct Parts {
    file: String,
    /// The kind of the first file.
    found: String,
    /// The number of the wanted track, from 1.
    track: Option<usize>,
    bytes: Bytes,
    /// The number of files that ffmpeg has decoded.
    converted: u32,
}

enum Bytes {
    /// In their order.
    Stream(Input),
    /// In a file, of which the parts are still to be decoded.
    Kept { kept: Kept, parts: VecDeque<mp4::Part>, now: Option<Box<mp4::Part>>, whole: bool },
}

/// A file that can be opened again.
enum Kept {
    Named(String),
    /// A file without a name.
    Temporary(File),
}

impl Kept {
    /// Opens the file at its beginning; nobody else may use another opening of a temporary one.
    fn open(&self) -> io::Result<File> {
        match self {
            Kept::Named(name) => File::open(name),
            Kept::Temporary(file) => {
                let mut file = file.try_clone()?;
                io::Seek::rewind(&mut file)?;
                Ok(file)
            }
        }
    }
}

/// The end of a file by its bytes.
#[derive(Default)]
pub(crate) struct Ending {
    pub finding: Option<Finding>,
    /// Bytes of it.
    pub bytes: u64,
}

impl Parts {
    /// Looks at the first bytes. `path` is the name of the file if it is one.
    pub fn new(
        reader: KaldiReader,
        found: String,
        path: Option<&str>,
        track: Option<usize>,
    ) -> Result<Parts> {
        let file = reader.name().to_owned();
        let io = |source| IoError::Io { name: file.clone(), source };
        let bytes = if is_one_of(&NEED_SEEKING, &found) {
            let kept = match path {
                Some(path) => Kept::Named(path.to_owned()),
                None => Kept::Temporary(spooled::keep(&file, &found, reader, spooled::MOST)?),
            };
            let mut opened = kept.open().map_err(io)?;
            let length = io::Seek::seek(&mut opened, io::SeekFrom::End(0)).map_err(io)?;
            let parts = match is_one_of(&MP4, &found) {
                true => mp4::parts(&mut opened, length).map_err(io)?,
                false => sizes::parts(&mut opened, length).map_err(io)?,
            };
            let whole = parts.len() == 1;
            Bytes::Kept { kept, parts: parts.into(), now: None, whole }
        } else {
            Bytes::Stream(Input::new(reader))
        };
        Ok(Parts { file, found, track, bytes, converted: 0 })
    }

    fn io(&self, source: io::Error) -> Error {
        IoError::Io { name: self.file.clone(), source }.into()
    }

    /// Begins the next file. `None` after the last one.
    pub fn next(&mut self) -> Result<Option<Box<dyn Blocks>>> {
        match &mut self.bytes {
            Bytes::Stream(input) => {
                let input = input.clone();
                if !input.begin().map_err(|source| self.io(source))? {
                    return Ok(None);
                }
                self.of_stream(input).map(Some)
            }
            Bytes::Kept { parts, now, .. } => match parts.pop_front() {
                Some(part) => {
                    *now = Some(Box::new(part));
                    self.of_file().map(Some)
                }
                None => Ok(None),
            },
        }
    }

    fn of_stream(&mut self, input: Input) -> Result<Box<dyn Blocks>> {
        let has_times = !ffmpeg::is_without_times(&input.peek());
        let is_mpeg = Streams::of(&input.peek()).is_some();
        let decoded = self.built_in(&input);
        let failed = match decoded {
            Ok(decoded) => {
                input.forget();
                return Ok(decoded);
            }
            Err(failed) => failed,
        };
        if let Some(source) = input.failure() {
            return Err(self.io(source));
        }
        self.check_track(&failed)?;
        self.check_ffmpeg(&failed)?;
        if !input.rewind() {
            let reason = format!("{}; its beginning is too long for another decoder", failed.reason);
            return Err(self.not_decoded(&NotDecoded::damaged(reason), ""));
        }
        if !is_mpeg {
            input.forget();
        }
        let open = |far| {
            let source = Source::Stream(input.clone());
            Converted::open(&self.file, source, failed.track, self.track, has_times, far)
        };
        let opened = match open(false) {
            // (The sound may begin behind what ffmpeg looks at.)
            Err(Error::Program { message, .. })
                if is_mpeg && message == ffmpeg::NO_SOUND && input.rewind() =>
            {
                input.forget();
                open(true)
            }
            opened => {
                input.forget();
                opened
            }
        };
        opened
            .map(|converted| Box::new(converted) as Box<dyn Blocks>)
            .map_err(|error| self.explained(error, &failed, &input))
    }

    /// The error about a stream that cannot be decoded, with the fault of its bytes if these have one.
    fn explained(&self, error: Error, failed: &NotDecoded, input: &Input) -> Error {
        let read = input.drain(MOST_EXPLAINED);
        if let Some(source) = input.failure() {
            return self.io(source);
        }
        let (file, found) = (self.file.clone(), self.found.clone());
        match (&error, input.finding().filter(|_| read.is_ok_and(|read| read < MOST_EXPLAINED))) {
            (Error::NoTrack { .. }, _) => error,
            (_, Some(Finding::Cut { reason, .. })) => Error::Cut { file, found, reason },
            (_, Some(Finding::Broken { reason, .. })) => Error::NoSound { file, found, reason },
            _ if failed.cut => Error::Cut { file, found, reason: failed.reason.clone() },
            _ => error,
        }
    }

    /// The decoder within this program.
    fn built_in(&self, input: &Input) -> std::result::Result<Box<dyn Blocks>, NotDecoded> {
        if self.track.is_none_or(|track| track == 1) && is_one_of(&["MP3", "MPEG audio", "ADTS"], &self.found)
        {
            return Ok(Box::new(Frames::open(&self.file, input.clone())?));
        }
        let kind = match &input.peek()[..] {
            [b'f', b'L', b'a', b'C', ..] => Kind::Flac,
            // (symphonia does not know their number, order and times.)
            begin @ [b'O', b'g', b'g', b'S', ..]
                if scan::has_other_streams(begin) && ffmpeg::not_startable().is_none() =>
            {
                return Err(NotDecoded::new("it has more streams than one of Vorbis or FLAC"));
            }
            [b'O', b'g', b'g', b'S', ..] => Kind::Ogg,
            [0x1a, 0x45, 0xdf, 0xa3, ..] => Kind::Matroska,
            [b'F', b'O', b'R', b'M', ..] | [b'R', b'I', b'F', b'F', ..] => Kind::Other,
            _ => return Err(NotDecoded::new("it has no built-in decoder")),
        };
        let known = Known { track: self.track, kind, index: None };
        let not_default = || matroska::not_default(&input.recorded());
        Ok(Box::new(Demuxed::open(&self.file, Box::new(input.clone()), known, not_default)?))
    }

    fn of_file(&mut self) -> Result<Box<dyn Blocks>> {
        let Bytes::Kept { kept, now: Some(part), whole, .. } = &mut self.bytes else {
            return Err(self.io(io::ErrorKind::Unsupported.into()));
        };
        let io = |source| Error::from(IoError::Io { name: self.file.clone(), source });
        let (start, end, missing) = (part.start, part.end, part.missing);
        let has_index = part.index.is_some();
        let behind = part.behind;
        let patches = std::mem::take(&mut part.patches);
        let is_mp4 = is_one_of(&MP4, &self.found);
        let is_caf = !is_mp4 && sizes::is_caf(&mut kept.open().map_err(io)?, start, end).map_err(io)?;
        let failed = if is_mp4 || self.found.contains("CAF") {
            let window = Window::new(kept.open().map_err(io)?, start, end).map_err(io)?;
            let window = window.with_patches(patches.clone());
            let kind = match is_mp4 {
                true => Kind::Mp4,
                false if is_caf => Kind::Caf,
                false => Kind::Other,
            };
            let known = Known { track: self.track, kind, index: part.index.take() };
            match Demuxed::open(&self.file, Box::new(window), known, Vec::new) {
                Ok(decoded) => return Ok(Box::new(decoded)),
                Err(failed) => failed,
            }
        } else {
            NotDecoded::new("it has no built-in decoder")
        };
        if is_mp4 && !has_index && missing > 0 {
            let reason = format!(
                "its index, which was to come behind the sound, and {missing} bytes before it are missing"
            );
            return Err(Error::Cut { file: self.file.clone(), found: self.found.clone(), reason });
        }
        if is_mp4 && !has_index && behind > 0 {
            let reason = format!(
                "its index is not there: the box that ends at byte {end} is followed by {behind} bytes that are no box, as if \
                 bytes were missing before"
            );
            return Err(Error::NoSound { file: self.file.clone(), found: self.found.clone(), reason });
        }
        let source = match *whole && patches.is_empty() {
            true => kept.open().map_err(io)?,
            false => {
                let window = Window::new(kept.open().map_err(io)?, start, end).map_err(io)?;
                spooled::keep(&self.file, &self.found, window.with_patches(patches), spooled::MOST)?
            }
        };
        self.check_track(&failed)?;
        self.check_ffmpeg(&failed)?;
        let opened = Converted::open(&self.file, Source::File(source), failed.track, self.track, true, false);
        let error = match opened {
            Ok(converted) => return Ok(Box::new(converted)),
            Err(error @ Error::NoTrack { .. }) => return Err(error),
            Err(error) => error,
        };
        let Bytes::Kept { kept, .. } = &self.bytes else { return Err(error) };
        let fault = kept.open().and_then(|opened| sizes::fault(opened, start, end));
        match fault.map_err(|source| self.io(source))? {
            Some(Finding::Cut { reason, .. }) if !is_mp4 => {
                Err(Error::Cut { file: self.file.clone(), found: self.found.clone(), reason })
            }
            _ => Err(error),
        }
    }

    /// Fails if ffmpeg cannot decode another file.
    fn check_ffmpeg(&mut self, failed: &NotDecoded) -> Result<()> {
        if let Some(ffmpeg) = ffmpeg::not_startable() {
            return Err(self.not_decoded(failed, ffmpeg));
        }
        self.converted += 1;
        if self.converted > MOST_PARTS {
            let reason = format!("more than {MOST_PARTS} files are joined");
            return Err(Error::NoSound { file: self.file.clone(), found: self.found.clone(), reason });
        }
        Ok(())
    }

    /// Refuses a track that is not there.
    fn check_track(&self, failed: &NotDecoded) -> Result<()> {
        match failed.track {
            Some((wanted, there)) if wanted > there || wanted == 0 => {
                Err(Error::NoTrack { file: self.file.clone(), wanted, there })
            }
            _ => Ok(()),
        }
    }

    fn not_decoded(&self, failed: &NotDecoded, ffmpeg: &str) -> Error {
        let (file, found, reason) = (self.file.clone(), self.found.clone(), failed.reason.clone());
        match failed.unsupported {
            true => Error::NoDecoder { file, found, reason, ffmpeg: ffmpeg.to_owned() },
            false => Error::NoSound { file, found, reason },
        }
    }

    /// Reads the rest of the file that was decoded last, and tells its fault.
    pub fn ending(&mut self) -> Result<Ending> {
        match &mut self.bytes {
            Bytes::Stream(input) => {
                let input = input.clone();
                input.drain(u64::MAX).map_err(|source| self.io(source))?;
                Ok(Ending { finding: input.finding(), bytes: input.seen() })
            }
            Bytes::Kept { now, kept, .. } => {
                let Some(part) = now.take() else { return Ok(Ending::default()) };
                let bytes = part.end - part.start;
                let reason = format!("its last box has {} bytes more than there are", part.missing);
                let cut = (part.missing > 0).then_some(Finding::Cut { bytes: Some(part.missing), reason });
                let behind = (part.behind > 0).then_some(Finding::Surplus { bytes: part.behind });
                let late = part.before.map(|(number, seconds)| Finding::Late {
                    reason: format!(
                        "its first fragment has the number {number} and begins at {seconds:.2} s: what comes before it is \
                         missing, and times count from there"
                    ),
                });
                let finding = cut.or(behind).or(late);
                let finding = match finding {
                    None if !is_one_of(&MP4, &self.found) => {
                        let opened =
                            kept.open().map_err(|source| IoError::Io { name: self.file.clone(), source })?;
                        sizes::fault(opened, part.start, part.end)
                            .map_err(|source| IoError::Io { name: self.file.clone(), source })?
                    }
                    finding => finding,
                };
                Ok(Ending { finding, bytes })
            }
        }
    }
}
