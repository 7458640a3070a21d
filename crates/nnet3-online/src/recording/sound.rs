//! A recording of any format, sentence by sentence.

use std::borrow::BorrowMut;
use std::collections::VecDeque;
use std::fmt;

use kaldi_sound::{Channels, SoundStream};

use super::bands::Bands;
use super::loudness::Loudness;
use super::sentences::{Sentence, Sentences, piece};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::model::low_rate::{LEAST_KNOWN, LowRate};

/// Choices for a recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordingOptions {
    /// The channels that are recognised. `None`: the first one, with a warning if there are others.
    pub channels: Option<Channels>,
}

/// A fault of a recording that is recognised nevertheless. Faults of a sentence are in its transcript.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordingWarning {
    /// A part of the sound is missing, or is not as it should be.
    Sound(kaldi_sound::Warning),
    /// The recording has `count` channels, and the first one is taken, since none was chosen.
    FirstChannel { count: usize },
    /// These channels (from 1) are silent, but `others` are not. `is_alone` if no other channel is recognised.
    Silent { channels: Vec<usize>, others: Vec<usize>, is_alone: bool },
    /// There is no sound above this frequency (in Hz), and the model was not trained with such sound, or with sound of 3 kHz at least.
    MissingBands { above: f64 },
    /// The model of such sound is one of Gaussians, which adapt to it less than networks do.
    Gaussians,
    /// The recording has a lower rate than the model, and the model was not trained with such sound.
    LowRate(LowRate),
}

impl RecordingWarning {
    /// True if a choice of [`channels`](RecordingOptions::channels) may help.
    pub fn concerns_channels(&self) -> bool {
        matches!(
            self,
            RecordingWarning::FirstChannel { .. } | RecordingWarning::Silent { is_alone: true, .. }
        )
    }
}

impl fmt::Display for RecordingWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |numbers: &[usize]| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        match self {
            RecordingWarning::Sound(warning) => warning.fmt(f),
            RecordingWarning::LowRate(low) => low.fmt(f),
            RecordingWarning::FirstChannel { count } => {
                write!(f, "the first of {count} channels is taken")
            }
            RecordingWarning::Silent { channels, others, .. } => {
                write!(f, "channel {} is silent, but channel {} is not", list(channels), list(others))
            }
            RecordingWarning::MissingBands { above } => {
                let above = above / 1000.0;
                write!(
                    f,
                    "there is no sound above {above} kHz, as behind a telephone or strong compression: a model that never heard such sound \
                     takes it for other words"
                )
            }
            RecordingWarning::Gaussians => f.write_str(
                "this model of Gaussians hardly understands sound without upper bands; a network does (recognizer.sh --model=network)",
            ),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Reading,
    /// All sentences have ended.
    Ended,
    Over,
}

/// The sentences of a recording. The iterator reads the sound in pieces, and returns each sentence when it ends. After an
/// error it is over. Afterwards [`warnings`](Self::warnings) has the faults of the recording.
///
/// ```no_run
/// use nnet3_online::{Model, ModelOptions, Recording};
///
/// # fn main() -> nnet3_online::Result<()> {
/// let model = Model::open("model", &ModelOptions::default())?;
/// let mut recording = Recording::open("speech.mp3", &model)?;
/// for sentence in recording.by_ref() {
///     println!("{}", sentence?.text());
/// }
/// recording.warnings().iter().for_each(|warning| eprintln!("{warning}"));
/// # Ok(())
/// # }
/// ```
pub struct Recording<S: BorrowMut<Sentences> = Sentences> {
    sentences: S,
    /// `None` once it is closed.
    sound: Option<SoundStream>,
    /// The name for errors, if the sound was opened here.
    file: Option<String>,
    /// In Hz.
    rate: u32,
    /// Samples of each signal in a piece.
    piece: usize,
    /// The number of signals that are recognised: the first ones of `loudness`.
    used: usize,
    loudness: Loudness,
    bands: Bands,
    stage: Stage,
    /// True if the sentences can be ended: they have not ended, and the search has not failed.
    can_end: bool,
    /// Sentences that the iterator has not returned.
    waiting: VecDeque<Sentence>,
    warnings: Vec<RecordingWarning>,
}

impl Recording<Sentences> {
    /// Opens a recording (a file of any format, `-`, or a command that ends with `|`) for a model, with the model's options
    /// and the default [`RecordingOptions`].
    ///
    /// # Errors
    /// Input that cannot be read, sound that cannot be decoded, options of the model that it cannot satisfy.
    pub fn open(rxfilename: &str, model: &Model) -> Result<Recording> {
        let sentences = Sentences::new(model, model.options())?;
        let sound = SoundStream::open(rxfilename)?;
        let recording = Recording::new(sound, sentences, &RecordingOptions::default())?;
        Ok(Recording { file: Some(rxfilename.to_owned()), ..recording })
    }
}

impl<S: BorrowMut<Sentences>> Recording<S> {
    /// Begins a recording. `sentences` may be borrowed: one [`Sentences`] serves one recording after another. Errors do not
    /// name the recording, except those of the sound.
    ///
    /// # Errors
    /// A channel that the recording does not have, options that the model cannot satisfy.
    pub fn new(sound: SoundStream, mut sentences: S, options: &RecordingOptions) -> Result<Recording<S>> {
        let count = sound.channels();
        let signals = sound.signals(options.channels.unwrap_or_default())?;
        let rate = sound.sample_rate();
        sentences.borrow_mut().begin(rate as f32, signals.len())?;
        let has_others = count > 1 && options.channels.is_none();
        Ok(Recording {
            sentences,
            sound: Some(sound),
            file: None,
            rate,
            piece: piece(rate as f32),
            used: signals.len(),
            loudness: Loudness::new(count, &signals),
            bands: Bands::new(rate),
            stage: Stage::Reading,
            can_end: true,
            waiting: VecDeque::new(),
            warnings: has_others.then_some(RecordingWarning::FirstChannel { count }).into_iter().collect(),
        })
    }

    /// Reads a piece of sound, and returns the sentences that end in it; `None` after the end. For a caller who shows
    /// progress; otherwise the iterator does it.
    ///
    /// # Errors
    /// Input that cannot be read or decoded, a recording without samples or with too few for a frame, a search that fails.
    pub fn advance(&mut self) -> Result<Option<Vec<Sentence>>> {
        match self.stage {
            Stage::Over => Ok(None),
            Stage::Ended => {
                self.stage = Stage::Over;
                if let Some((channels, others)) = self.loudness.silent(self.used) {
                    let is_alone = self.used == 1;
                    self.warnings.push(RecordingWarning::Silent { channels, others, is_alone });
                }
                let sentences = self.sentences.borrow();
                let (rate, missing_bands) =
                    (sentences.model().sample_rate(), sentences.options().missing_bands);
                let knows = |above: f64| missing_bands && above > LEAST_KNOWN;
                let highest = self.bands.highest(f64::from(rate) / 2.0).filter(|&above| !knows(above));
                let low =
                    || LowRate::of(self.rate as f32, rate, missing_bands).map(RecordingWarning::LowRate);
                // (One warning says what is missing. The bands are missing whatever the rate is.)
                let missing = highest.map(|above| RecordingWarning::MissingBands { above }).or_else(low);
                let of_gaussians = missing.is_some() && !sentences.model().is_trained();
                self.warnings.extend(missing);
                self.warnings.extend(of_gaussians.then_some(RecordingWarning::Gaussians));
                Ok(None)
            }
            Stage::Reading => match self.read() {
                Ok(sentences) => Ok(Some(sentences)),
                Err(error) => {
                    self.stage = Stage::Over;
                    Err(error)
                }
            },
        }
    }

    fn read(&mut self) -> Result<Vec<Sentence>> {
        let samples = match &mut self.sound {
            Some(sound) => sound.read(self.piece, &self.loudness.channels)?,
            None => Vec::new(),
        };
        if samples.first().is_none_or(Vec::is_empty) {
            return self.end();
        }
        self.loudness.add(&samples);
        samples[..self.used].iter().for_each(|samples| self.bands.add(samples));
        let accepted = self.sentences.borrow_mut().accept(&samples[..self.used]);
        self.can_end = accepted.is_ok();
        accepted.map_err(|error| self.named(error))
    }

    fn end(&mut self) -> Result<Vec<Sentence>> {
        if let Some(sound) = self.sound.take() {
            self.warnings.extend(sound.warnings().into_iter().map(RecordingWarning::Sound));
            sound.close()?;
        }
        self.can_end = false;
        let sentences = self.sentences.borrow_mut().finish().map_err(|error| self.named(error))?;
        self.stage = Stage::Ended;
        Ok(sentences)
    }

    /// Ends the recording before its end, and returns the sentences that have not ended so far. The rest of the sound is not read. After
    /// an error of the sound, these are the sentences before it.
    ///
    /// # Errors
    /// A search that fails.
    pub fn stop(&mut self) -> Result<Vec<Sentence>> {
        self.stage = Stage::Over;
        self.sound = None;
        if !std::mem::take(&mut self.can_end) {
            return Ok(Vec::new());
        }
        match self.sentences.borrow_mut().finish() {
            Err(Error::NoSamples | Error::TooShort { .. }) => Ok(Vec::new()),
            ended => ended.map_err(|error| self.named(error)),
        }
    }

    fn named(&self, error: Error) -> Error {
        match &self.file {
            Some(file) => Error::of(file)(error),
            None => error,
        }
    }

    /// Returns the words of the first signal since its last sentence; none after the end.
    ///
    /// # Errors
    /// A word of the graph without a name.
    pub fn partial(&mut self) -> Result<String> {
        match self.stage {
            Stage::Reading => self.sentences.borrow_mut().partial(0),
            Stage::Ended | Stage::Over => Ok(String::new()),
        }
    }

    /// Returns the seconds of sound so far.
    pub fn seconds(&self) -> f64 {
        self.sentences.borrow().samples() as f64 / f64::from(self.rate)
    }

    /// Returns the faults of the recording as far as it was read; all of them after the end.
    pub fn warnings(&self) -> &[RecordingWarning] {
        &self.warnings
    }
}

impl<S: BorrowMut<Sentences>> Iterator for Recording<S> {
    type Item = Result<Sentence>;

    fn next(&mut self) -> Option<Result<Sentence>> {
        loop {
            if let Some(sentence) = self.waiting.pop_front() {
                return Some(Ok(sentence));
            }
            match self.advance() {
                Ok(Some(sentences)) => self.waiting.extend(sentences),
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
