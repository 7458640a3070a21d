//! MPEG audio (MP1, MP2, MP3) and AAC in ADTS: frames one behind the other, without a container.

mod adts;
mod header;
mod layer2;
mod tag;

use std::io::{self, Read};

use kaldi_io::IoError;
use symphonia::core::codecs::audio::{AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error as Failure;
use symphonia::core::packet::Packet;
use symphonia::core::units::{Duration, Timestamp};

use crate::blocks::{Block, Blocks, End, NotDecoded, reason};
use crate::input::Input;
use crate::{Result, Warning};
use header::Header;
use tag::{Tag, foreign};

/// Bytes that are read at once.
const BLOCK: usize = 1 << 14;
/// Bytes between frames that are no fault: padding.
const MOST_BETWEEN: u64 = 4;
/// Bytes without a frame at the beginning, after which this is no such file.
const MOST_JUNK: u64 = 1 << 20;

/// The frames of a stream.
pub(crate) struct Frames {
    file: String,
    input: Input,
    buffer: Vec<u8>,
    ended: bool,
    /// The form of the last frame. A decoder is for one form.
    form: Option<Header>,
    decoder: Option<Box<dyn AudioDecoder>>,
    /// Frames of samples so far of this part, with the encoder's delay.
    position: u64,
    /// The note at the beginning of this part.
    tag: Option<Tag>,
    /// MPEG frames of this part.
    count: u64,
    /// Bytes that are no frame and no known tag.
    junk: u64,
    /// Those of them behind the first frame, and the place of the first ones, in seconds.
    between: u64,
    between_at: f64,
    /// Seconds of sound so far.
    given: f64,
    /// The fault of a part that ended before its time.
    cut: Option<String>,
    warnings: Vec<Warning>,
    first: Option<Block>,
}

/// The next thing in the stream.
enum Next {
    Frame(Header, Vec<u8>),
    End,
}

impl Frames {
    /// Finds the first frame, and decodes up to the first sample.
    pub fn open(file: &str, input: Input) -> std::result::Result<Frames, NotDecoded> {
        let mut frames = Frames {
            file: file.to_owned(),
            input,
            buffer: Vec::new(),
            ended: false,
            form: None,
            decoder: None,
            position: 0,
            tag: None,
            count: 0,
            junk: 0,
            between: 0,
            between_at: 0.0,
            given: 0.0,
            cut: None,
            warnings: Vec::new(),
            first: None,
        };
        let failed = |error: crate::Error| NotDecoded::damaged(reason(&error));
        frames.first = loop {
            match frames.decoded().map_err(failed)? {
                // (A frame that needs those before it is no fault of the file at its beginning.)
                Some(block) if block.samples.is_empty() || block.damaged => {}
                other => break other,
            }
            if frames.count > 16 {
                return Err(NotDecoded::damaged("its frames are damaged"));
            }
        };
        match &frames.first {
            Some(_) => Ok(frames),
            None => {
                let cut = frames.cut.is_some();
                let reason = frames.cut.take().unwrap_or_else(|| "the recording has no samples".to_owned());
                Err(NotDecoded { cut, ..NotDecoded::damaged(reason) })
            }
        }
    }

    fn fill(&mut self, wanted: usize) -> io::Result<bool> {
        while self.buffer.len() < wanted && !self.ended {
            let old = self.buffer.len();
            self.buffer.resize(old + BLOCK, 0);
            let read = self.input.read(&mut self.buffer[old..]);
            self.buffer.truncate(old + *read.as_ref().unwrap_or(&0));
            self.ended = read? == 0;
        }
        Ok(self.buffer.len() >= wanted)
    }

    /// The next frame. Tags of other kinds are passed over.
    fn frame(&mut self) -> io::Result<Next> {
        loop {
            self.fill(64)?;
            if self.buffer.is_empty() {
                return Ok(Next::End);
            }
            if let Some(size) = foreign(&self.buffer) {
                self.pass(size)?;
                continue;
            }
            let header = Header::parse(&self.buffer);
            let Some(header) = header.filter(|header| self.form.is_none_or(|form| form.is_family(header)))
            else {
                self.skip_byte()?;
                continue;
            };
            let whole = self.fill(header.size + 4)?;
            let there = self.buffer.len();
            if there < header.size {
                // The last frame, or bytes that look like one.
                if self.form.is_some_and(|form| form.is_like(&header)) || self.junk == 0 {
                    self.cut = Some("the file ends within a frame".to_owned());
                    self.buffer.clear();
                    return Ok(Next::End);
                }
                self.skip_byte()?;
                continue;
            }
            let rest = &self.buffer[header.size..];
            let follows = !whole
                || Header::parse(rest).is_some_and(|next| next.is_family(&header))
                || foreign(rest).is_some();
            if !(follows || self.form.is_some_and(|form| form.is_like(&header)) && self.junk_run_is_short()) {
                self.skip_byte()?;
                continue;
            }
            let frame = self.buffer[..header.size].to_vec();
            self.buffer.drain(..header.size);
            return Ok(Next::Frame(header, frame));
        }
    }

    /// True if this frame follows another one at once.
    fn junk_run_is_short(&self) -> bool {
        self.junk == 0
    }

    fn skip_byte(&mut self) -> io::Result<()> {
        // To the next byte that may begin a frame or a tag.
        let next = self.buffer[1..].iter().position(|byte| matches!(byte, 0xff | b'I' | b'T' | b'A'));
        let count = next.map_or(self.buffer.len(), |next| next + 1);
        self.buffer.drain(..count);
        self.junk += count as u64;
        if self.form.is_some() {
            self.between_at = if self.between == 0 { self.given } else { self.between_at };
            self.between += count as u64;
        }
        if self.form.is_none() && self.junk > MOST_JUNK {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no frame of MPEG audio was found"));
        }
        Ok(())
    }

    /// Passes over a tag.
    fn pass(&mut self, mut size: usize) -> io::Result<()> {
        while size > 0 && self.fill(1)? {
            let now = size.min(self.buffer.len());
            self.buffer.drain(..now);
            size -= now;
        }
        Ok(())
    }

    /// Decodes the next frame. `None` at the end.
    fn decoded(&mut self) -> Result<Option<Block>> {
        let file = self.file.clone();
        let failed = |source| IoError::Io { name: file.clone(), source };
        let no_sound = |failure: Failure| {
            let (found, reason) = ("MPEG audio".to_owned(), failure.to_string());
            crate::Error::NoSound { file: file.clone(), found, reason }
        };
        let (header, frame) = match self.frame().map_err(failed)? {
            Next::Frame(header, frame) => (header, frame),
            Next::End => return Ok(None),
        };
        if let Some(tag) = Tag::of(&header, &frame) {
            // A note about the frames that follow: a file begins.
            let restart = self.count > 0;
            self.check_length();
            (self.tag, self.count, self.position) = (Some(tag), 0, 0);
            self.decoder = None;
            self.form = Some(header);
            return Ok(Some(Block {
                restart,
                rate: header.rate,
                channels: header.channels,
                ..Block::default()
            }));
        }
        if self.form.is_none_or(|form| !form.is_like(&header)) || self.decoder.is_none() {
            let decoder = header.decoder(&AudioDecoderOptions::default().gapless(false));
            self.decoder = Some(decoder.map_err(no_sound)?);
            self.form = Some(header);
        }
        self.count += 1;
        let data = header.data(&frame);
        let packet = Packet::new(0, Timestamp::new(0), Duration::new(header.samples as u64), data);
        let Some(decoder) = &mut self.decoder else { return Ok(None) };
        let mut block = match decoder.decode(&packet) {
            Ok(samples) if header.is_unusual() => layer2::block(&header, &samples),
            Ok(samples) => Block::of_buffer(&samples),
            Err(Failure::IoError(_) | Failure::DecodeError(_)) => {
                Block::silence(header.rate, header.channels, header.samples)
            }
            Err(failure) => return Err(no_sound(failure)),
        };
        let begin = self.position;
        self.position += block.frames() as u64;
        if let Some(tag) = &self.tag {
            // Delay and padding of the encoder.
            let front = tag.delay.saturating_sub(begin);
            block.trim(usize::try_from(front).unwrap_or(usize::MAX), usize::MAX);
            if let Some((end, padded)) = tag.end
                && self.position > end
                && begin < padded
            {
                let start = begin.max(tag.delay);
                block.trim(0, end.saturating_sub(start) as usize);
            }
        }
        self.given += block.frames() as f64 / f64::from(header.rate.max(1));
        Ok(Some(block))
    }

    /// Compares the number of frames with that of the note.
    fn check_length(&mut self) {
        let (Some(tag), Some(form)) = (&self.tag, self.form) else { return };
        if let Some(frames) = tag.frames
            && self.count < frames
        {
            let missing = (frames - self.count) as f64 * form.samples as f64 / f64::from(form.rate);
            let reason = format!("its first frame tells of {frames} frames, and there are {}", self.count);
            self.warnings.push(Warning::Cut { at: f64::NAN, missing: Some(missing), reason });
        }
    }
}

impl Blocks for Frames {
    fn seconds(&self) -> Option<f64> {
        let (frames, form) = (self.tag.as_ref()?.frames?, self.form?);
        Some(frames as f64 * form.samples as f64 / f64::from(form.rate))
    }

    fn next(&mut self) -> Result<Option<Block>> {
        match self.first.take() {
            Some(block) => Ok(Some(block)),
            None => self.decoded(),
        }
    }

    fn end(&mut self) -> End {
        let noted = self.warnings.len();
        self.check_length();
        let mut reason = self.cut.take();
        if self.warnings.len() > noted {
            // (Which says more.)
            reason = None;
        }
        if self.between > MOST_BETWEEN {
            let (bytes, at) = (self.between, self.between_at);
            self.warnings.push(Warning::Other(format!(
                "{bytes} bytes between the frames, the first at {at:.2} s, are no sound and are left out; sound may be missing there"
            )));
        }
        End { reason, warnings: std::mem::take(&mut self.warnings), ..End::default() }
    }
}
