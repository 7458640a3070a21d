//! Recordings that symphonia decodes.

use std::io::ErrorKind;

use kaldi_io::IoError;
use symphonia::core::codecs::audio::{AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error as Failure;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream};
use symphonia::core::meta::MetadataOptions;

use crate::{Error, Result};

/// The sound of a file, decoded packet by packet.
pub(crate) struct Decoded {
    file: String,
    format: Box<dyn FormatReader>,
    decoder: Box<dyn AudioDecoder>,
    track: u32,
    sample_rate: u32,
    channels: usize,
    /// Decoded samples, all channels of the first one first; those before `taken` have been returned.
    ready: Vec<i16>,
    taken: usize,
    /// Samples of a packet.
    packet: Vec<i16>,
    ended: bool,
    /// Packets that could not be decoded.
    damaged: u64,
    /// The fault that ended the file early.
    cut: Option<String>,
}

/// The reason why symphonia does not decode a file.
pub(crate) struct NotDecoded {
    reason: String,
    /// True if the format is known, or might be, but not the coding of its sound.
    unsupported: bool,
}

impl NotDecoded {
    pub fn new(reason: &str) -> NotDecoded {
        NotDecoded { reason: reason.to_owned(), unsupported: true }
    }

    /// The error for a file that begins like a file of the kind `found`.
    pub fn into_error(self, file: &str, found: String) -> Error {
        let (file, reason) = (file.to_owned(), self.reason);
        match self.unsupported {
            true => Error::NoDecoder { file, found, reason },
            false => Error::NoSound { file, found, reason },
        }
    }
}

impl From<Failure> for NotDecoded {
    fn from(failure: Failure) -> NotDecoded {
        let unsupported = matches!(failure, Failure::Unsupported(_));
        NotDecoded { reason: failure.to_string(), unsupported }
    }
}

impl Decoded {
    /// Reads the header and the first packet of sound.
    pub fn open(file: &str, source: Box<dyn MediaSource>) -> std::result::Result<Decoded, NotDecoded> {
        let stream = MediaSourceStream::new(source, Default::default());
        let (hint, formats, metadata) = (Hint::new(), FormatOptions::default(), MetadataOptions::default());
        let format = symphonia::default::get_probe().probe(&hint, stream, formats, metadata)?;
        let track =
            format.default_track(TrackType::Audio).ok_or_else(|| NotDecoded::new("it has no sound"))?;
        let (id, parameters) =
            (track.id, track.codec_params.as_ref().and_then(|parameters| parameters.audio()));
        let parameters = parameters.ok_or_else(|| NotDecoded::new("the coding of its sound is not known"))?;
        let options = AudioDecoderOptions::default();
        let decoder = symphonia::default::get_codecs().make_audio_decoder(parameters, &options)?;
        let mut decoded = Decoded {
            file: file.to_owned(),
            format,
            decoder,
            track: id,
            sample_rate: 0,
            channels: 0,
            ready: Vec::new(),
            taken: 0,
            packet: Vec::new(),
            ended: false,
            damaged: 0,
            cut: None,
        };
        while decoded.ready.is_empty() && !decoded.ended {
            if let Err(error) = decoded.next() {
                return Err(NotDecoded { reason: error.to_string(), unsupported: false });
            }
        }
        match (decoded.ready.is_empty(), decoded.cut.take()) {
            (false, cut) => {
                decoded.cut = cut;
                Ok(decoded)
            }
            (true, Some(reason)) => Err(NotDecoded { reason, unsupported: false }),
            (true, None) => {
                Err(NotDecoded { reason: "the recording has no samples".to_owned(), unsupported: false })
            }
        }
    }

    /// In Hz.
    pub fn sample_rate(&self) -> u32 {
        self.sample_rate
    }

    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Up to `most` samples of each channel; fewer only at the end.
    pub fn read(&mut self, most: usize) -> Result<Vec<i16>> {
        let wanted = most.saturating_mul(self.channels);
        while self.ready.len() - self.taken < wanted && !self.ended {
            self.next()?;
        }
        let end = self.ready.len().min(self.taken + wanted);
        let samples = self.ready[self.taken..end].to_vec();
        self.taken = end;
        if self.taken == self.ready.len() {
            self.ready.clear();
            self.taken = 0;
        }
        Ok(samples)
    }

    /// Decodes a packet.
    fn next(&mut self) -> Result<()> {
        let packet = match self.format.next_packet() {
            Ok(Some(packet)) if packet.track_id != self.track => return Ok(()),
            Ok(Some(packet)) => packet,
            Ok(None) => {
                self.ended = true;
                return Ok(());
            }
            Err(failure) => return self.end(failure),
        };
        let samples = match self.decoder.decode(&packet) {
            Ok(samples) => samples,
            Err(Failure::DecodeError(_)) => {
                self.damaged += 1;
                return Ok(());
            }
            Err(failure) => return self.end(failure),
        };
        let spec = samples.spec();
        let found = (spec.rate(), spec.channels().count());
        if self.channels == 0 {
            if found.0 == 0 || found.1 == 0 {
                return Ok(());
            }
            (self.sample_rate, self.channels) = found;
        }
        let expected = (self.sample_rate, self.channels);
        if found != expected {
            return Err(Error::Changed { file: self.file.clone(), expected, found });
        }
        samples.copy_to_vec_interleaved(&mut self.packet);
        self.ready.extend_from_slice(&self.packet);
        Ok(())
    }

    /// Ends the recording before its end, unless the input itself fails.
    fn end(&mut self, failure: Failure) -> Result<()> {
        self.ended = true;
        match failure {
            Failure::IoError(source) if source.kind() != ErrorKind::UnexpectedEof => {
                return Err(IoError::Io { name: self.file.clone(), source }.into());
            }
            // (The end of a file without an index looks so.)
            Failure::IoError(_) => {}
            failure => self.cut = Some(failure.to_string()),
        }
        Ok(())
    }

    /// The fault of the file, once all of it was read.
    pub fn complaint(&self) -> Option<String> {
        match (&self.cut, self.damaged) {
            (Some(reason), _) => Some(format!("the sound ends early ({reason})")),
            (None, 0) => None,
            (None, damaged) => Some(format!("{damaged} damaged packets of sound are left out")),
        }
    }
}
