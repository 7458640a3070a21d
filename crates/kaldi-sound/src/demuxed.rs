//! Sound in containers that symphonia reads: FLAC, Ogg, MP4, Matroska, AIFF, CAF, and waves with other codings.

use std::collections::VecDeque;
use std::io::ErrorKind;

use kaldi_io::IoError;
use symphonia::core::codecs::audio::{AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error as Failure;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, Track, TrackFlags, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream};
use symphonia::core::meta::MetadataOptions;
use symphonia::core::packet::Packet;
use symphonia::core::units::TimeBase;

use crate::Result;
use crate::blocks::{Block, Blocks, End, NotDecoded};
use crate::mp4::{self, Index, Jump, Piece};

/// Times of containers whose clock has fewer ticks are not exact.
const EXACT: u32 = 8000;
/// The largest error of such times, in seconds.
const JITTER: f64 = 0.02;
/// Damaged packets at the beginning, after which the file is taken for one of another coding.
const MOST_DAMAGED: u32 = 16;

/// Facts about a file that symphonia does not tell.
#[derive(Default)]
pub(crate) struct Known {
    /// The number of the wanted track, from 1.
    pub track: Option<usize>,
    /// The tracks and edit lists of an MP4 file.
    pub index: Option<Index>,
    /// True if the header of FLAC and the like is to be believed only about what was really there.
    pub kind: Kind,
}

/// The kinds of containers that need a treatment of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    Flac,
    Matroska,
    Ogg,
    Mp4,
    Caf,
    /// Matroska that ffmpeg writes.
    Converted,
    #[default]
    Other,
}

/// The sound of a file, decoded packet by packet.
pub(crate) struct Demuxed {
    file: String,
    kind: Kind,
    format: Box<dyn FormatReader>,
    decoder: Box<dyn AudioDecoder>,
    track: u32,
    base: Option<TimeBase>,
    /// The number of the track, from 1, and the number of tracks.
    numbers: (usize, usize),
    /// The pieces of an edit list.
    pieces: Option<Vec<Piece>>,
    /// The gaps between fragments of MP4.
    jumps: Vec<Jump>,
    /// The beginning of the first track, in seconds, once it is known.
    zero: Option<f64>,
    /// The earliest time of a packet of another track before the first one of this track, in seconds.
    others: f64,
    /// The latest time of a packet of another track, in seconds.
    last_other: f64,
    /// Rate in Hz and channels of the last packet.
    form: (u32, usize),
    /// Blocks that were decoded, and not yet given.
    ready: VecDeque<Block>,
    ended: bool,
    reason: Option<String>,
    /// The end in seconds, or in samples of the codec.
    expected: Expected,
    /// Samples of the largest packet.
    packet: usize,
    damaged_at_first: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Expected {
    Unknown,
    Samples(u64),
    Seconds(f64),
}

impl From<Failure> for NotDecoded {
    fn from(failure: Failure) -> NotDecoded {
        let unsupported = matches!(failure, Failure::Unsupported(_));
        NotDecoded { reason: text(&failure), unsupported, cut: false, track: None }
    }
}

/// A failure, in words that fit behind the name of a file.
fn text(failure: &Failure) -> String {
    match failure {
        Failure::IoError(source) if source.kind() == ErrorKind::UnexpectedEof => {
            "the file ends too early".to_owned()
        }
        Failure::IoError(source) => source.to_string(),
        other => other.to_string(),
    }
}

fn channels(track: &Track) -> usize {
    let parameters = track.codec_params.as_ref().and_then(|parameters| parameters.audio());
    parameters.and_then(|audio| audio.channels.as_ref()).map_or(0, |channels| channels.count())
}

/// Chooses a track of sound as ffmpeg does: a default one, the one with most channels, the first one. Returns its number
/// from 1.
fn choose(tracks: &[(bool, usize)]) -> usize {
    let mut best = 0;
    for (number, track) in tracks.iter().enumerate() {
        if *track > tracks[best] {
            best = number;
        }
    }
    best + 1
}

impl Demuxed {
    /// Reads the header and decodes up to the first sample. `begin` gives the first bytes that were read so far.
    pub fn open(
        file: &str,
        source: Box<dyn MediaSource>,
        known: Known,
        not_default: impl Fn() -> Vec<u32>,
    ) -> std::result::Result<Demuxed, NotDecoded> {
        let stream = MediaSourceStream::new(source, Default::default());
        let (hint, formats, metadata) = (Hint::new(), FormatOptions::default(), MetadataOptions::default());
        let opened = symphonia::default::get_probe().probe(&hint, stream, formats, metadata);
        let tracks_of = |index: &Index| -> Vec<(u32, bool, usize)> {
            index.sound().map(|track| (track.id, track.enabled, track.channels.into())).collect()
        };
        let format = match (opened, &known.index) {
            (Ok(format), _) => format,
            // The index tells which track another program is to decode.
            (Err(failure), Some(index)) => {
                let there: Vec<_> =
                    tracks_of(index).iter().map(|&(_, default, channels)| (default, channels)).collect();
                let number = known.track.unwrap_or_else(|| choose(&there));
                let track = (!there.is_empty()).then_some((number, there.len()));
                return Err(NotDecoded { track, ..NotDecoded::from(failure) });
            }
            (Err(failure), None) => return Err(failure.into()),
        };
        let secondary = if known.kind == Kind::Matroska { not_default() } else { Vec::new() };
        let there: Vec<(u32, bool, usize)> = match &known.index {
            Some(index) => tracks_of(index),
            None => format
                .tracks()
                .iter()
                .filter(|track| track.track_type() == Some(TrackType::Audio))
                .map(|track| {
                    let default = match known.kind {
                        Kind::Matroska => !secondary.contains(&track.id),
                        _ => track.flags.contains(TrackFlags::DEFAULT),
                    };
                    (track.id, default, channels(track))
                })
                .collect(),
        };
        if there.is_empty() {
            return Err(NotDecoded::new("it has no sound that is known"));
        }
        let order: Vec<(bool, usize)> =
            there.iter().map(|&(_, default, channels)| (default, channels)).collect();
        let number = known.track.unwrap_or_else(|| choose(&order));
        let numbers = (number, there.len());
        let with_track = |failed: NotDecoded| NotDecoded { track: Some(numbers), ..failed };
        let Some(&(id, ..)) = number.checked_sub(1).and_then(|index| there.get(index)) else {
            return Err(with_track(NotDecoded::new("it has no such track")));
        };
        let track = format.tracks().iter().find(|track| track.id == id);
        let parameters = track.and_then(|track| track.codec_params.as_ref()?.audio());
        let (Some(track), Some(parameters)) = (track, parameters) else {
            return Err(with_track(NotDecoded::new("the coding of its sound is not known")));
        };
        let options = AudioDecoderOptions::default().verify(known.kind == Kind::Flac);
        let decoder = symphonia::default::get_codecs()
            .make_audio_decoder(parameters, &options)
            .map_err(|failure| with_track(failure.into()))?;
        let of_index =
            known.index.as_ref().and_then(|index| index.tracks.iter().find(|track| track.id == id));
        if of_index.is_some_and(|track| !track.is_in_order()) {
            return Err(with_track(NotDecoded::new("its edit list plays pieces in another order")));
        }
        let fragmented = known.index.as_ref().is_some_and(|index| index.fragmented);
        let expected = match (known.kind, of_index) {
            (Kind::Mp4, Some(track)) if !fragmented => {
                track.end().map_or(Expected::Unknown, Expected::Seconds)
            }
            (Kind::Mp4 | Kind::Ogg | Kind::Converted, _) => Expected::Unknown,
            (Kind::Matroska, _) => {
                let media = format.media_info();
                let length = media.duration.zip(media.time_base);
                let seconds = length.map(|(length, base)| length.get() as f64 * seconds_of(base));
                seconds.map_or(Expected::Unknown, Expected::Seconds)
            }
            _ => track.num_frames.filter(|&count| count > 0).map_or(Expected::Unknown, Expected::Samples),
        };
        let static_zero = match known.kind {
            Kind::Mp4 if !fragmented => known.index.as_ref().map(Index::start),
            Kind::Matroska | Kind::Mp4 => None,
            // The first packet of a part of a longer stream has a later time.
            Kind::Ogg => None,
            Kind::Flac | Kind::Caf | Kind::Converted | Kind::Other => Some(0.0),
        };
        let expected = match (expected, static_zero) {
            (Expected::Seconds(end), Some(zero)) => Expected::Seconds(end - zero),
            (expected, _) => expected,
        };
        let mut demuxed = Demuxed {
            file: file.to_owned(),
            kind: known.kind,
            track: id,
            base: track.time_base,
            format,
            decoder,
            numbers,
            pieces: of_index.map(|track| track.pieces.clone()),
            jumps: of_index.map(|track| track.jumps.clone()).unwrap_or_default(),
            zero: static_zero,
            others: f64::INFINITY,
            last_other: 0.0,
            form: (0, 0),
            ready: VecDeque::new(),
            ended: false,
            reason: None,
            expected,
            packet: 0,
            damaged_at_first: 0,
        };
        let first = demuxed.decoded();
        let failed = |demuxed: &Demuxed, reason: String| NotDecoded {
            track: Some(demuxed.numbers),
            ..NotDecoded::damaged(reason)
        };
        match first {
            Err(error) => Err(failed(&demuxed, crate::blocks::reason(&error))),
            Ok(None) => {
                let reason =
                    demuxed.reason.take().unwrap_or_else(|| "the recording has no samples".to_owned());
                Err(failed(&demuxed, reason))
            }
            Ok(Some(block)) => {
                demuxed.ready.push_front(block);
                Ok(demuxed)
            }
        }
    }

    /// The next block with samples, or a beginning.
    fn decoded(&mut self) -> Result<Option<Block>> {
        loop {
            if let Some(block) = self.ready.pop_front() {
                return Ok(Some(block));
            }
            if self.ended {
                return Ok(None);
            }
            self.packet()?;
        }
    }

    /// Reads a packet, and decodes it if it is one of the track.
    fn packet(&mut self) -> Result<()> {
        let packet = match self.format.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => {
                self.ended = true;
                return Ok(());
            }
            Err(Failure::ResetRequired) => return self.restart(),
            Err(failure) => return self.stop(failure),
        };
        if packet.track_id != self.track {
            let base = self.format.tracks().iter().find(|track| track.id == packet.track_id);
            if let Some(base) = base.and_then(|track| track.time_base) {
                let time = packet.pts.get() as f64 * seconds_of(base);
                self.last_other = self.last_other.max(time);
                if self.zero.is_none() {
                    self.others = self.others.min(time);
                }
            }
            return Ok(());
        }
        let damaged = match self.decoder.decode(&packet) {
            Ok(buffer) => {
                let block = Block::of_buffer(&buffer);
                if block.rate == 0 || block.channels == 0 {
                    return Ok(());
                }
                self.form = (block.rate, block.channels);
                self.packet = self.packet.max(block.frames());
                self.place(&packet, block);
                return Ok(());
            }
            // (The next packet may be right, whatever the decoder calls the failure.)
            Err(failure) => text(&failure),
        };
        let (rate, count) = self.form;
        if rate == 0 {
            self.damaged_at_first += 1;
            if self.damaged_at_first > MOST_DAMAGED {
                self.reason = Some(damaged);
                self.ended = true;
            }
            return Ok(());
        }
        let seconds = self.base.map_or(0.0, |base| packet.block_dur().get() as f64 * seconds_of(base));
        let frames = (seconds * f64::from(rate)).round() as usize;
        if frames > 0 && frames < rate as usize * 10 {
            self.place(&packet, Block::silence(rate, count, frames));
        }
        Ok(())
    }

    /// Gives a block its time, and the parts of it that an edit list plays.
    fn place(&mut self, packet: &Packet, mut block: Block) {
        if block.samples.is_empty() {
            return;
        }
        let Some(base) = self.base else {
            self.ready.push_back(block);
            return;
        };
        let rate = f64::from(block.rate);
        let gaps = mp4::Track::gaps(&self.jumps, packet.pts.get());
        let ticks = i128::from(packet.pts.get() + packet.trim_start.get() as i64) + i128::from(gaps);
        // In samples of the codec, exactly.
        let numerator = ticks * i128::from(base.numer.get()) * i128::from(block.rate);
        let at = numerator.div_euclid(i128::from(base.denom.get()));
        let rest = numerator.rem_euclid(i128::from(base.denom.get()));
        let at = (at + i128::from(2 * rest >= i128::from(base.denom.get()))) as i64;
        let seconds = at as f64 / rate;
        let zero = *self.zero.get_or_insert_with(|| {
            let first = self.pieces.as_ref().and_then(|pieces| pieces.first()).map_or(0.0, |piece| piece.at);
            (seconds + first).min(self.others).max(0.0)
        });
        let exact = base.denom.get() / base.numer.get() >= EXACT && self.kind != Kind::Mp4;
        block.tolerance = if exact { 0 } else { (block.frames() as i64 / 2).max((JITTER * rate) as i64) };
        let zero = (zero * rate).round() as i64;
        let Some(pieces) = &self.pieces else {
            block.at = Some(at - zero);
            self.ready.push_back(block);
            return;
        };
        for piece in pieces {
            let sample = |time: f64| (time * rate).round() as i64;
            let end = if piece.end.is_finite() { sample(piece.end) } else { i64::MAX };
            let (from, to) = (at.max(sample(piece.begin)), (at + block.frames() as i64).min(end));
            if from < to {
                let mut part = Block { samples: block.samples.clone(), ..block };
                part.trim((from - at) as usize, (to - from) as usize);
                part.at = Some(from - sample(piece.begin) + sample(piece.at) - zero);
                part.not_finite = block.not_finite;
                block.not_finite = 0;
                self.ready.push_back(part);
            }
        }
    }

    /// Goes on with the file that follows in an Ogg stream.
    fn restart(&mut self) -> Result<()> {
        let tracks: Vec<&Track> = self
            .format
            .tracks()
            .iter()
            .filter(|track| track.track_type() == Some(TrackType::Audio))
            .collect();
        let track = tracks.get(self.numbers.0 - 1).or(tracks.first());
        let parameters = track.and_then(|track| track.codec_params.as_ref()?.audio());
        let (Some(track), Some(parameters)) = (track, parameters) else {
            self.reason = Some("a file that is joined to it has no sound that is known".to_owned());
            self.ended = true;
            return Ok(());
        };
        match symphonia::default::get_codecs().make_audio_decoder(parameters, &AudioDecoderOptions::default())
        {
            Ok(decoder) => {
                self.decoder = decoder;
                (self.track, self.base) = (track.id, track.time_base);
                (self.zero, self.others) = (None, f64::INFINITY);
                let (rate, channels) = self.form;
                self.ready.push_back(Block { rate, channels, restart: true, ..Block::default() });
            }
            Err(failure) => {
                self.reason =
                    Some(format!("a file that is joined to it cannot be decoded: {}", text(&failure)));
                self.ended = true;
            }
        }
        Ok(())
    }

    /// Ends the recording, unless the input itself fails.
    fn stop(&mut self, failure: Failure) -> Result<()> {
        self.ended = true;
        match failure {
            Failure::IoError(source) if source.kind() != ErrorKind::UnexpectedEof => {
                return Err(IoError::Io { name: self.file.clone(), source }.into());
            }
            // (Matroska that was written live has no other end, and bytes of FLAC behind the last frame are no frame.)
            Failure::IoError(_)
                if matches!(self.kind, Kind::Matroska | Kind::Converted | Kind::Flac | Kind::Ogg) => {}
            failure => self.reason = Some(text(&failure)),
        }
        Ok(())
    }
}

/// The seconds of a tick.
fn seconds_of(base: TimeBase) -> f64 {
    f64::from(base.numer.get()) / f64::from(base.denom.get())
}

impl Blocks for Demuxed {
    fn next(&mut self) -> Result<Option<Block>> {
        self.decoded()
    }

    fn end(&mut self) -> End {
        let rate = self.form.0;
        let expected = match self.expected {
            Expected::Unknown => None,
            Expected::Samples(count) => i64::try_from(count).ok(),
            Expected::Seconds(seconds) => Some((seconds * f64::from(rate)) as i64),
        };
        End {
            expected: expected.map(|count| (count, rate)),
            // (ffmpeg's header of a CAF file with ALAC counts the last packet as a whole one.)
            slack: if self.kind == Kind::Caf { self.packet } else { 0 },
            certain: self.kind != Kind::Matroska,
            others: (self.kind == Kind::Matroska).then(|| self.last_other - self.zero.unwrap_or(0.0)),
            reason: self.reason.take(),
            wrong_checksum: self.decoder.finalize().verify_ok == Some(false),
            warnings: Vec::new(),
        }
    }

    fn seconds(&self) -> Option<f64> {
        match self.expected {
            Expected::Unknown => {
                let track = self.format.tracks().iter().find(|track| track.id == self.track)?;
                let (length, base) = (track.num_frames?, track.time_base?);
                Some(length as f64 * seconds_of(base))
            }
            Expected::Samples(count) => Some(count as f64 / f64::from(self.form.0.max(1))),
            Expected::Seconds(seconds) => Some(seconds),
        }
    }

    fn track(&self) -> (usize, usize) {
        self.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::choose;

    #[test]
    fn the_track_is_the_one_that_ffmpeg_takes() {
        assert_eq!(choose(&[(true, 1), (true, 1)]), 1);
        assert_eq!(choose(&[(false, 6), (true, 1)]), 2);
        assert_eq!(choose(&[(false, 1), (false, 2), (false, 2)]), 2);
    }
}
