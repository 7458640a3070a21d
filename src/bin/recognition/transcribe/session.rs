//! A thread's work: from the sound of a file to its text.

use anyhow::{Result, anyhow};
use kaldi_cli::StandardOutput;
use kaldi_sound::{Channels, SoundOptions, SoundStream};
use nnet3::messages;
use nnet3_online::formats::{self, Format, Parts, Recognized, Segment, sort_by_time};
use nnet3_online::voices::Voices;
use nnet3_online::{Model, RecognizerOptions, Recording, RecordingOptions, Sentence, Sentences, Speakers};

use super::Sound;
use super::checks::{advice, named, with_hint};
use super::lattices::Keeper;
use super::names::is_live;
use super::outputs::Outputs;
use super::progress::{Line, Minutes};

/// Steps of sound between two displays of partial results: 0.6 s.
const LOOK: usize = 3;

/// The parts that all threads share.
pub struct Job<'j> {
    pub model: &'j Model,
    pub options: RecognizerOptions,
    pub channels: Option<Channels>,
    pub sound: SoundOptions,
    pub speakers: Option<&'j Speakers>,
    pub outputs: &'j Outputs,
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

    /// Returns the text of a file in each form, or the part that has not been printed. If `at_once`, sentences of live sound
    /// are printed when they end. Speakers are known at the end only.
    pub fn texts(&mut self, number: usize, sound: &Sound, at_once: bool) -> Result<Vec<String>> {
        let Job { outputs, parts, speakers, .. } = *self.job;
        let live = outputs.live().filter(|_| at_once && speakers.is_none() && is_live(sound.path));
        let each = |segment: &Segment| match live {
            Some(format) if !segment.words.is_empty() => {
                print(&formats::write_sentence(format, parts, &sound.names[0], segment))
            }
            _ => Ok(()),
        };
        let mut keeper =
            sound.lattices.as_ref().map(|(file, name)| Keeper::create(file, name)).transpose()?;
        let (mut segments, seconds) = self.file(number, sound.path, keeper.as_mut(), each)?;
        keeper.map_or(Ok(()), Keeper::close)?;
        let printed = segments.iter().any(|segment| !segment.words.is_empty());
        if live.is_some_and(|format| printed || format == Format::Json) {
            return Ok(vec![String::new()]);
        }
        if let Some(speakers) = speakers {
            speakers.label(&mut segments, std::mem::take(&mut self.voices))?;
        }
        sort_by_time(&mut segments);
        let write = |(&format, name): (&Format, &String)| {
            formats::write(format, parts, &Recognized { name, segments: &segments, seconds })
        };
        Ok(outputs.formats.iter().zip(&sound.names).map(write).collect())
    }

    /// Returns the segments of a file, with a new speaker, and its length in seconds. Calls `each` for each segment when it ends.
    /// Lattices go to `keeper`.
    fn file(
        &mut self,
        number: usize,
        path: &str,
        mut keeper: Option<&mut Keeper>,
        each: impl Fn(&Segment) -> Result<()>,
    ) -> Result<(Vec<Segment>, f64)> {
        let Job { channels, minutes, min_confidence, .. } = *self.job;
        let stream = SoundStream::open_with(path, &self.job.sound).map_err(|error| {
            let advice = advice(&error);
            anyhow!("{}{advice}", kaldi_io::error::chain(&error))
        })?;
        minutes.file_begins(number, stream.seconds());
        let options = RecordingOptions { channels };
        let mut recording = Recording::new(stream, &mut self.sentences, &options)?;
        let shown = Line::new(!is_live(path));
        let warn = |message: &str| minutes.suspend(|| messages::warn(&named(path, message.to_owned())));
        let (mut segments, mut voices) = (Vec::new(), Vec::new());
        let mut end = |sentence: Sentence| -> Result<()> {
            sentence.transcript.warnings.iter().for_each(|warning| warn(&warning.to_string()));
            keeper.as_mut().map_or(Ok(()), |keeper| keeper.keep(&sentence))?;
            let (segment, of_segment) = sentence.into_segment(min_confidence);
            shown.empty();
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
            minutes.add(number, recording.seconds() - seconds);
            seconds = recording.seconds();
            pieces += 1;
            if pieces % LOOK == 0 && !shown.is_hidden() {
                let partial = recording.partial()?;
                shown.show(|| partial);
            }
            ended.into_iter().try_for_each(&mut end)?;
        }
        shown.clear();
        self.voices = voices;
        Ok((segments, seconds))
    }
}

fn print(text: &str) -> Result<()> {
    Ok(StandardOutput::print(text)?)
}
