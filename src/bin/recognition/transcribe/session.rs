//! A thread's work: from the sound of a file to its text.

use std::cell::Cell;

use anyhow::{Result, anyhow};
use kaldi_cli::StandardOutput;
use kaldi_io::interruption;
use kaldi_sound::{Channels, SoundOptions, SoundStream};
use nnet3::messages;
use nnet3_online::formats::{self, Format, Parts, Recognized, Segment, sort_by_time};
use nnet3_online::voices::Voices;
use nnet3_online::{
    Model, RecognizerOptions, Recording, RecordingOptions, Sentence, Sentences, Speakers, is_unknown,
};

use super::Sound;
use super::checks::{advice, named, with_hint};
use super::interrupted::Part;
use super::lattices::Keeper;
use super::names::is_live;
use super::outputs::Outputs;
use super::progress::{Line, Minutes};
use super::words::WordArgs;

/// Steps of sound between two displays of partial results: 0.6 s.
const LOOK: usize = 3;

/// A warning about a text without words.
const ONLY_UNKNOWN: &str = "the text has no word but the one for sounds that are no word of the model's vocabulary (<unk>): noise, words that \
     it lacks or, for a model of single words, words without a pause between them";

/// The parts that all threads share.
pub struct Job<'j> {
    pub model: &'j Model,
    pub options: RecognizerOptions,
    pub channels: Option<Channels>,
    pub sound: SoundOptions,
    pub speakers: Option<&'j Speakers>,
    pub outputs: &'j Outputs,
    pub parts: Parts,
    pub words: &'j WordArgs,
    /// True if each sentence is written when it ends.
    pub as_it_comes: bool,
    pub minutes: &'j Minutes,
}

/// The text of a recording.
pub enum Heard {
    /// The whole text in each form.
    Whole(Vec<String>),
    /// The text up to a signal.
    Part(Part),
    /// The signal came before the recording was begun.
    Nothing,
}

/// The sentences of a recording.
struct Sentenced {
    segments: Vec<Segment>,
    /// The seconds of sound.
    seconds: f64,
    stopped: Option<Stopped>,
}

/// A signal has stopped the recognition.
struct Stopped {
    /// The seconds of the recording, if they are known.
    whole: Option<f64>,
}

pub struct Session<'j> {
    job: &'j Job<'j>,
    sentences: Sentences,
    /// With a speaker model, the voices of the segments of the present file.
    voices: Vec<Voices>,
    /// True if the head of the form was written, by this session or by the writer of its texts.
    has_head: bool,
}

impl<'j> Session<'j> {
    pub fn new(job: &'j Job<'j>) -> Result<Session<'j>> {
        let mut sentences = Sentences::new(job.model, &job.options)?;
        if let Some(speakers) = job.speakers {
            sentences.set_speaker_model(speakers.model.clone())?;
        }
        Ok(Session { job, sentences, voices: Vec::new(), has_head: false })
    }

    /// Returns the text of a file in each form, or the part that has not been printed. If `at_once`, sentences of live sound, and of
    /// all sound if that is asked for, are printed when they end. Speakers are known at the end only.
    pub fn texts(&mut self, number: usize, sound: &Sound, at_once: bool) -> Result<Heard> {
        let Job { outputs, parts, speakers, as_it_comes, minutes, .. } = *self.job;
        if interruption::received().is_some() {
            return Ok(Heard::Nothing);
        }
        let of_live = |format: &Format| is_live(sound.path) && matches!(format, Format::Text | Format::Json);
        let form = outputs.by_sentences().filter(|format| as_it_comes || of_live(format));
        let form = form.filter(|_| at_once && speakers.is_none());
        let has_head = Cell::new(self.has_head);
        let each = |segment: &Segment| match form {
            Some(format) if !segment.words.is_empty() => {
                let head = if has_head.replace(true) { String::new() } else { format.head() };
                let text = head + &formats::write_sentence(format, parts, &sound.names[0], segment);
                minutes.suspend(|| Ok(StandardOutput::print(text)?))
            }
            _ => Ok(()),
        };
        let mut keeper =
            sound.lattices.as_ref().map(|(file, name)| Keeper::create(file, name)).transpose()?;
        let heard = self.file(number, sound.path, keeper.as_mut(), each);
        self.has_head = has_head.get();
        let Sentenced { mut segments, seconds, stopped } = heard?;
        let has_words = segments.iter().any(|segment| !segment.words.is_empty());
        let is_printed = form.is_some_and(|format| has_words || format == Format::Json);
        if stopped.is_none() {
            keeper.map_or(Ok(()), Keeper::close)?;
        }
        if let Some(speakers) = speakers.filter(|_| !is_printed) {
            speakers.label(&mut segments, std::mem::take(&mut self.voices))?;
        }
        sort_by_time(&mut segments);
        let write = |(&format, name): (&Format, &String)| {
            let text = formats::write(format, parts, &Recognized { name, segments: &segments, seconds });
            let printed = if form.is_some() && has_head.get() { format.head() } else { String::new() };
            text.strip_prefix(&printed).map(str::to_owned).unwrap_or(text)
        };
        let nothing = || vec![String::new(); outputs.formats.len()];
        let texts = match is_printed || stopped.is_some() && !has_words {
            true => nothing(),
            false => outputs.formats.iter().zip(&sound.names).map(write).collect(),
        };
        self.has_head = true;
        Ok(match stopped {
            None => Heard::Whole(texts),
            Some(Stopped { whole }) => {
                Heard::Part(Part { texts, is_printed: is_printed && has_words, seconds, whole })
            }
        })
    }

    /// Returns the sentences of a file, with a new speaker. Calls `each` for each segment when it ends. Lattices go to `keeper`.
    fn file(
        &mut self,
        number: usize,
        path: &str,
        mut keeper: Option<&mut Keeper>,
        each: impl Fn(&Segment) -> Result<()>,
    ) -> Result<Sentenced> {
        let Job { channels, minutes, words, .. } = *self.job;
        let stream = SoundStream::open_with(path, &self.job.sound).map_err(|error| {
            let advice = advice(&error);
            anyhow!("{}{advice}", kaldi_io::error::chain(&error))
        })?;
        let whole = stream.seconds();
        minutes.file_begins(number, whole);
        let options = RecordingOptions { channels };
        let mut recording = Recording::new(stream, &mut self.sentences, &options)?;
        let shown = Line::new(!is_live(path));
        let warn = |message: &str| minutes.suspend(|| messages::warn(&named(path, message.to_owned())));
        let (mut segments, mut voices) = (Vec::new(), Vec::new());
        let (mut known, mut unknown) = (0, 0);
        let mut end = |mut sentence: Sentence| -> Result<()> {
            sentence.transcript.warnings.iter().for_each(|warning| warn(&warning.to_string()));
            keeper.as_mut().map_or(Ok(()), |keeper| keeper.keep(&sentence))?;
            for word in &sentence.transcript.words {
                *(if is_unknown(&word.text) { &mut unknown } else { &mut known }) += 1;
            }
            if let Some(unknown) = &words.unknown {
                sentence.transcript.replace_unknown(unknown);
            }
            let (segment, of_segment) = sentence.into_segment(words.min_confidence);
            shown.empty();
            shown.suspend(|| each(&segment))?;
            segments.push(segment);
            voices.extend(of_segment);
            Ok(())
        };
        let (mut warned, mut pieces, mut seconds) = (0, 0, 0.0);
        while interruption::received().is_none() {
            let ended = recording.advance();
            let warnings = &recording.warnings()[warned..];
            warnings.iter().for_each(|warning| warn(&with_hint(warning)));
            warned += warnings.len();
            let ended = match ended {
                // (A command that decodes the sound may have got the signal, too.)
                Err(_) if interruption::received().is_some() => break,
                ended => ended?,
            };
            let Some(ended) = ended else { break };
            minutes.add(number, recording.seconds() - seconds);
            seconds = recording.seconds();
            pieces += 1;
            if pieces % LOOK == 0 && !shown.is_hidden() {
                let partial = recording.partial()?;
                shown.show(|| words.shown(partial));
            }
            ended.into_iter().try_for_each(&mut end)?;
        }
        let stopped = interruption::received().map(|_| Stopped { whole });
        if stopped.is_some() {
            recording.stop()?.into_iter().try_for_each(&mut end)?;
        }
        shown.clear();
        // (With phrases, that may be the answer.)
        if stopped.is_none() && known == 0 && unknown > 0 && words.phrases.is_empty() {
            warn(ONLY_UNKNOWN);
        }
        self.voices = voices;
        Ok(Sentenced { segments, seconds, stopped })
    }
}
