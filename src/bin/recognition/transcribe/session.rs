//! A thread's work: from the sound of a file to its text.

use anyhow::Result;
use kaldi_sound::{Channels, SoundOptions, SoundStream};
use nnet3::messages;
use nnet3_online::formats::{self, Format, Parts, Segment, sort_by_time};
use nnet3_online::voices::Voices;
use nnet3_online::{
    Model, PIECE, RecognizerOptions, Recording, RecordingOptions, RecordingWarning, Sentence, Sentences,
};

use super::names::is_live;
use super::progress::{Minutes, partial_results};
use super::speakers::Speakers;
use super::{Sound, print};

/// Seconds of live sound in a piece.
const LIVE_PIECE: f32 = 0.05;
/// Seconds of sound between two displays of partial results.
const LOOK: f32 = 0.6;

/// The parts that all threads share.
pub struct Job<'j> {
    pub model: &'j Model,
    pub options: RecognizerOptions,
    pub channels: Option<Channels>,
    pub sound: SoundOptions,
    pub speakers: Option<&'j Speakers>,
    pub format: Format,
    pub parts: Parts,
    pub min_confidence: f32,
    pub minutes: &'j Minutes,
}

pub struct Session<'j> {
    job: &'j Job<'j>,
    sentences: Sentences,
    /// With a speaker model, the voices of the segments of the present file.
    voices: Vec<Voices>,
}

impl<'j> Session<'j> {
    pub fn new(job: &'j Job<'j>) -> Result<Session<'j>> {
        let mut sentences = Sentences::new(job.model, &job.options)?;
        if let Some(speakers) = job.speakers {
            sentences.set_speaker_model(speakers.model.clone())?;
        }
        Ok(Session { job, sentences, voices: Vec::new() })
    }

    /// Returns the text of a file, or the part that has not been printed. If `at_once`, sentences of live sound are
    /// printed when they end. Speakers are known at the end only.
    pub fn text(&mut self, sound: &Sound, at_once: bool) -> Result<String> {
        let Job { format, parts, speakers, .. } = *self.job;
        let at_once = at_once
            && speakers.is_none()
            && matches!(format, Format::Text | Format::Json)
            && is_live(sound.path)
            && sound.to.is_none();
        let each = |segment: &Segment| match at_once && !segment.words.is_empty() {
            true => print(&formats::write_sentence(format, parts, &sound.name, segment)),
            false => Ok(()),
        };
        let mut segments = self.file(sound.path, each)?;
        if let Some(speakers) = speakers {
            return speakers.write(format, parts, &sound.name, &segments, &self.voices);
        }
        let printed = segments.iter().any(|segment| !segment.words.is_empty()) || format == Format::Json;
        if at_once && printed {
            return Ok(String::new());
        }
        sort_by_time(&mut segments);
        Ok(formats::write(format, parts, &sound.name, &segments))
    }

    /// Returns the text of a file, with a new speaker. Calls `each` for each segment when it ends.
    fn file(&mut self, path: &str, each: impl Fn(&Segment) -> Result<()>) -> Result<Vec<Segment>> {
        let Job { channels, minutes, min_confidence, .. } = *self.job;
        let stream = SoundStream::open_with(path, &self.job.sound)?;
        let piece = if is_live(path) { LIVE_PIECE } else { PIECE };
        let pieces_to_a_look = (LOOK / piece).round() as usize;
        let options = RecordingOptions { channels, piece };
        let mut recording = Recording::new(stream, &mut self.sentences, &options)?;
        let shown = if is_live(path) { partial_results() } else { indicatif::ProgressBar::hidden() };
        let warn = |message: &str| minutes.suspend(|| messages::warn(&format!("{path}: {message}")));
        let (mut segments, mut voices) = (Vec::new(), Vec::new());
        let mut end = |sentence: Sentence| -> Result<()> {
            sentence.transcript.warnings.iter().for_each(|warning| warn(&warning.to_string()));
            let (segment, of_segment) = sentence.into_segment(min_confidence);
            shown.set_message("");
            shown.suspend(|| each(&segment))?;
            segments.push(segment);
            voices.extend(of_segment);
            Ok(())
        };
        let (mut warned, mut pieces, mut seconds) = (0, 0, 0.0);
        loop {
            let ended = recording.advance();
            let warnings = &recording.warnings()[warned..];
            warnings.iter().for_each(|warning| warn(&with_hint(warning)));
            warned += warnings.len();
            let Some(ended) = ended? else { break };
            minutes.add(recording.seconds() - seconds);
            seconds = recording.seconds();
            pieces += 1;
            if pieces % pieces_to_a_look == 0 && !shown.is_hidden() {
                shown.set_message(recording.partial()?);
            }
            ended.into_iter().try_for_each(&mut end)?;
        }
        shown.finish_and_clear();
        self.voices = voices;
        Ok(segments)
    }
}

fn with_hint(warning: &RecordingWarning) -> String {
    let hint = if warning.concerns_channels() { "; see --channels" } else { "" };
    format!("{warning}{hint}")
}
