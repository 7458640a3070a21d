//! A recording of one or more files that decoders give block by block, as one stream of samples.

use kaldi_io::KaldiReader;

use crate::blocks::{Block, Blocks, End};
use crate::conversion::Conversion;
use crate::parts::Parts;
use crate::scan::{Finding, Hole};
use crate::timeline::Timeline;
use crate::{Error, RATES, Result, Warning};

/// Samples that may be missing at the end without a warning, in seconds: less than a packet.
const SLACK: f64 = 0.02;
/// The time in seconds for which pictures may go on behind the last packet of sound, since packets of a time come near each other.
const INTERLEAVED: f64 = 2.0;
/// Silence that is made at once, in samples.
const PIECE: usize = 1 << 16;

/// The sound of a recording.
pub(crate) struct Decoded {
    file: String,
    parts: Parts,
    now: Option<Box<dyn Blocks>>,
    timeline: Timeline,
    /// The beginning of this file, in seconds.
    part: f64,
    conversion: Conversion,
    /// Samples that are ready, all channels of the first one first; those before `taken` have been returned.
    ready: Vec<i16>,
    taken: usize,
    /// Silence that is still to be made, and the block that follows it.
    silence: usize,
    behind: Option<Block>,
    ended: bool,
    not_finite: u64,
    /// Faults of ends of files.
    warnings: Vec<Warning>,
    track: Option<usize>,
}

impl Decoded {
    /// Reads the header, and decodes up to the first sample. `path` is the name of the file if it is one, `found` its kind.
    pub fn open(
        reader: KaldiReader,
        found: String,
        path: Option<&str>,
        track: Option<usize>,
    ) -> Result<Decoded> {
        let file = reader.name().to_owned();
        let mut decoded = Decoded {
            parts: Parts::new(reader, found.clone(), path, track)?,
            now: None,
            timeline: Timeline::default(),
            part: 0.0,
            conversion: Conversion::new(&file),
            ready: Vec::new(),
            taken: 0,
            silence: 0,
            behind: None,
            ended: false,
            not_finite: 0,
            warnings: Vec::new(),
            track,
            file,
        };
        decoded.now = decoded.parts.next()?;
        while decoded.ready.is_empty() && !decoded.ended {
            decoded.step()?;
        }
        if decoded.ready.is_empty() {
            let reason = match decoded.warnings.first() {
                Some(Warning::Cut { reason, .. }) => reason.clone(),
                _ => "the recording has no samples".to_owned(),
            };
            return Err(Error::NoSound { file: decoded.file, found, reason });
        }
        Ok(decoded)
    }

    /// In Hz.
    pub fn sample_rate(&self) -> u32 {
        self.conversion.form().0
    }

    /// The length in seconds of the file that is decoded now, as its header has it.
    pub fn seconds(&self) -> Option<f64> {
        self.now.as_ref().and_then(|now| now.seconds())
    }

    pub fn channels(&self) -> usize {
        self.conversion.form().1
    }

    /// Up to `most` samples of each channel; fewer only at the end.
    pub fn read(&mut self, most: usize) -> Result<Vec<i16>> {
        let wanted = most.saturating_mul(self.channels());
        while self.ready.len() - self.taken < wanted && !self.ended {
            self.step()?;
        }
        let end = self.ready.len().min(self.taken.saturating_add(wanted));
        let samples = self.ready[self.taken..end].to_vec();
        self.taken = end;
        if self.taken == self.ready.len() {
            self.ready.clear();
            self.taken = 0;
        } else if self.taken > 4 * PIECE {
            self.ready.drain(..self.taken);
            self.taken = 0;
        }
        Ok(samples)
    }

    /// Makes a piece of silence, or takes a block.
    fn step(&mut self) -> Result<()> {
        if let Some(block) = &self.behind {
            let (rate, channels) = (block.rate, block.channels);
            let piece = self.silence.min(PIECE);
            self.silence -= piece;
            let zeros = vec![0; piece * channels];
            self.conversion.add(rate, channels, &zeros, &mut self.ready)?;
            if self.silence == 0
                && let Some(block) = self.behind.take()
            {
                self.conversion.add(rate, channels, &block.samples, &mut self.ready)?;
            }
            return Ok(());
        }
        let Some(now) = &mut self.now else {
            self.ended = true;
            self.conversion.finish(&mut self.ready);
            return Ok(());
        };
        match now.next()? {
            Some(block) if block.restart => {
                self.timeline.restart();
                Ok(())
            }
            Some(block) => self.take(block),
            None => self.next_part(),
        }
    }

    fn take(&mut self, mut block: Block) -> Result<()> {
        if block.samples.is_empty() {
            return Ok(());
        }
        if !RATES.contains(&block.rate) {
            return Err(Error::Rate { file: self.file.clone(), rate: block.rate });
        }
        self.not_finite += block.not_finite;
        let place = self.timeline.place(&block);
        block.trim(place.skip, usize::MAX);
        if place.silence > 0 {
            (self.silence, self.behind) = (place.silence, Some(block));
            return Ok(());
        }
        self.conversion.add(block.rate, block.channels, &block.samples, &mut self.ready)
    }

    /// Ends a file, and begins the next one.
    fn next_part(&mut self) -> Result<()> {
        let Some(mut now) = self.now.take() else { return Ok(()) };
        let end = now.end();
        if self.track.is_none() && self.timeline.now() == self.timeline.seconds() {
            let (taken, count) = now.track();
            if count > 1 {
                self.warnings.push(Warning::OneOfTracks { taken, count });
            }
        }
        drop(now);
        let ending = self.parts.ending()?;
        self.judge(end, ending.finding, ending.bytes);
        self.now = match self.parts.next() {
            Ok(next) => next,
            Err(error) => {
                let rest = self.parts.ending()?;
                self.warnings.push(Warning::LeftOut {
                    at: self.timeline.now(),
                    seconds: None,
                    bytes: rest.bytes,
                    reason: format!(
                        "a file that is joined to it cannot be decoded ({})",
                        crate::blocks::reason(&error)
                    ),
                });
                return Ok(());
            }
        };
        if self.now.is_some() {
            self.timeline.restart();
            self.part = self.timeline.now();
        }
        Ok(())
    }

    /// Adds the warnings about the end of a file.
    fn judge(&mut self, end: End, finding: Option<Finding>, bytes: u64) {
        let (at, seconds) = (self.timeline.now(), self.timeline.seconds());
        let missing = end.expected.map(|(count, rate)| count as f64 / f64::from(rate.max(1)) - seconds);
        let slack = end.expected.map_or(0.0, |(_, rate)| end.slack as f64 / f64::from(rate.max(1)));
        let missing = missing.filter(|&missing| missing > SLACK.max(slack));
        let own = match &finding {
            Some(Finding::Surplus { bytes: surplus }) => bytes.saturating_sub(*surplus),
            _ => bytes,
        };
        let each = if own > 0 { seconds / own as f64 } else { 0.0 };
        let length = |bytes: u64| Some(bytes as f64 * each).filter(|&length| length > 0.0);
        for warning in end.warnings {
            self.warnings.push(match warning {
                Warning::Cut { at: noted, missing, reason } if noted.is_nan() => {
                    Warning::Cut { at, missing, reason }
                }
                Warning::Perhaps { at: noted, seconds, reason } if noted.is_nan() => {
                    Warning::Perhaps { at, seconds, reason }
                }
                other => other,
            });
        }
        let behind = end.others.map(|others| others - seconds).filter(|&behind| behind > INTERLEAVED);
        let noted = self.warnings.iter().any(|warning| matches!(warning, Warning::Cut { .. }));
        if let (
            Some(Finding::Cut { reason, .. } | Finding::Broken { reason, hole: None }),
            None,
            Some(behind),
        ) = (&finding, &end.reason, behind)
        {
            self.warnings.push(Warning::Other(format!(
                "{reason}; the sound ends at {at:.2} s, and other tracks go on for {behind:.2} s: it may be whole"
            )));
            return;
        }
        match (finding, end.reason) {
            (Some(Finding::Cut { bytes, reason }), _) => {
                let missing = missing.or_else(|| bytes.and_then(length));
                self.warnings.push(Warning::Cut { at, missing, reason });
            }
            (Some(Finding::Late { reason }), None) => self.warnings.push(Warning::Other(reason)),
            (_, Some(reason)) => self.warnings.push(Warning::Cut { at, missing, reason }),
            (_, None) if missing.is_some() && end.certain => {
                let reason = "its header tells of more samples".to_owned();
                self.warnings.push(Warning::Cut { at, missing, reason });
            }
            (Some(Finding::Surplus { bytes }), None) => {
                let reason = "the header tells of an end before them".to_owned();
                self.warnings.push(Warning::LeftOut { at, seconds: length(bytes), bytes, reason });
            }
            (Some(Finding::Broken { reason, hole: None }), None) if missing.is_some() => {
                self.warnings.push(Warning::Cut { at, missing, reason });
            }
            (Some(Finding::Broken { reason, hole }), None) => self.judge_hole(reason, hole),
            (None, None) => {
                if end.wrong_checksum && !noted && self.timeline.warnings().is_empty() {
                    self.warnings.push(Warning::Checksum);
                }
            }
        }
    }

    /// Adds the warning about a place within a file. Of the seconds that are missing there, the timeline may have filled some.
    fn judge_hole(&mut self, reason: String, hole: Option<Hole>) {
        let now = self.timeline.now();
        let Some(Hole { at, whole }) = hole else {
            return self.warnings.push(Warning::Other(format!("{reason}; sound may be missing")));
        };
        let (at, missing) = (self.part + at, self.part + whole - now);
        if missing > SLACK && at > now - SLACK {
            return self.warnings.push(Warning::Cut { at: now, missing: Some(missing), reason });
        }
        if missing > SLACK {
            self.warnings.push(Warning::Gap { at, seconds: missing, filled: false });
        }
        self.warnings.push(Warning::Other(format!("{reason}, at {at:.2} s")));
    }

    /// The faults of the recording so far; all of them after its end.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut all = self.timeline.warnings();
        all.extend(self.warnings.iter().cloned());
        if self.not_finite > 0 {
            all.push(Warning::NotFinite { count: self.not_finite });
        }
        all
    }
}
