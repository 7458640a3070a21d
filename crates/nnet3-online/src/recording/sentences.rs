//! Sentences of signals that arrive piece by piece.

use std::sync::Arc;

use kaldi_feat::wave::RATES;
use kaldi_io::text::count;

use super::steps::Steps;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::options::RecognizerOptions;
use crate::recognizer::Recognizer;
use crate::segment::Segment;
use crate::speakers::SpeakerModel;
use crate::stream::State;
use crate::transcript::Transcript;
use crate::voices::Voices;

/// Seconds of sound in a step, as in vosk: the search looks for the end of a sentence at the end of a step only.
pub const PIECE: f32 = 0.2;

/// Returns the number of samples in a step of sound at this rate (in Hz): those of [`PIECE`] seconds, at least 1.
pub fn piece(rate: f32) -> usize {
    ((rate * PIECE) as usize).max(1)
}

/// A sentence of a recording, with its warnings.
#[derive(Debug, Clone)]
pub struct Sentence {
    /// The words, with times in seconds from the beginning of the recording.
    pub transcript: Transcript,
    /// The number of its signal, from 1.
    pub channel: usize,
}

impl Sentence {
    /// Returns the words with a blank between them.
    pub fn text(&self) -> String {
        self.transcript.text()
    }

    /// Returns the words whose confidence is at least `min_confidence`, and the voices that speak them.
    pub fn into_segment(self, min_confidence: f32) -> (Segment, Option<Voices>) {
        Segment::of(self.transcript, self.channel, min_confidence)
    }
}

/// Recognises one recording after another, each of one or more signals that arrive together, piece by piece. Words do not
/// depend on the sizes of pieces: the search gets steps of [`PIECE`] seconds. A caller who has the whole recording uses a
/// [`Recording`](crate::Recording).
pub struct Sentences {
    model: Model,
    options: RecognizerOptions,
    speakers: Option<Arc<SpeakerModel>>,
    /// A recogniser for each signal of the recording with the most signals so far.
    recognizers: Vec<Recognizer>,
    /// The number of signals of the present recording.
    signals: usize,
    /// The steps of each signal.
    steps: Vec<Steps>,
    /// Samples of each signal so far.
    samples: u64,
    /// True if a sentence has ended.
    has_sentence: bool,
}

impl Sentences {
    /// Makes the recogniser of the first signal.
    ///
    /// # Errors
    /// Options that the model cannot satisfy.
    pub fn new(model: &Model, options: &RecognizerOptions) -> Result<Sentences> {
        let mut sentences = Sentences {
            model: model.clone(),
            options: options.clone(),
            speakers: None,
            recognizers: Vec::new(),
            signals: 1,
            steps: vec![Steps::new(model.sample_rate())],
            samples: 0,
            has_sentence: false,
        };
        sentences.need(1)?;
        Ok(sentences)
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    pub(super) fn options(&self) -> &RecognizerOptions {
        &self.options
    }

    fn need(&mut self, signals: usize) -> Result<()> {
        while self.recognizers.len() < signals {
            let mut recognizer = Recognizer::new(&self.model, self.model.sample_rate(), &self.options)?;
            if let Some(speakers) = &self.speakers {
                recognizer.set_speaker_model(speakers.clone())?;
            }
            self.recognizers.push(recognizer);
        }
        Ok(())
    }

    /// Makes transcripts have the vectors of their speakers. Must be called before a recording begins.
    ///
    /// # Errors
    /// Features of the speaker model that cannot be made of sound in pieces.
    pub fn set_speaker_model(&mut self, model: Arc<SpeakerModel>) -> Result<()> {
        self.recognizers.iter_mut().try_for_each(|one| one.set_speaker_model(model.clone()))?;
        self.speakers = Some(model);
        Ok(())
    }

    /// Begins a recording of `signals` signals at this rate (in Hz), each with a speaker of its own.
    ///
    /// # Errors
    /// A rate that no recogniser takes.
    pub fn begin(&mut self, rate: f32, signals: usize) -> Result<()> {
        if !(*RATES.start() as f32..=*RATES.end() as f32).contains(&rate) {
            return Err(Error::Rate { rate });
        }
        self.need(signals)?;
        (self.signals, self.samples, self.has_sentence) = (signals, 0, false);
        self.steps = vec![Steps::new(rate); signals];
        self.recognizers.iter_mut().take(signals).try_for_each(|one| one.reset(rate))
    }

    /// Takes the next samples of each signal, with the values of wave files (−32768 to 32767), as many of each. Returns the
    /// sentences that end in them.
    ///
    /// # Errors
    /// A rate that does not fit the model, another number of signals than the recording has, outputs of the network that
    /// are not numbers. Then only another recording can begin.
    pub fn accept<T: AsRef<[f32]>>(&mut self, pieces: &[T]) -> Result<Vec<Sentence>> {
        if pieces.len() != self.signals {
            let (expected, found) = (self.signals, pieces.len());
            let expected = count(expected, "signal");
            return Err(Error::Data(format!("expected samples of {expected}, found {found}")));
        }
        self.samples += pieces.first().map_or(0, |samples| samples.as_ref().len() as u64);
        let mut steps: Vec<_> = self
            .steps
            .iter_mut()
            .zip(pieces)
            .map(|(steps, samples)| steps.add(samples.as_ref()).into_iter())
            .collect();
        let mut ended = Vec::new();
        loop {
            let step: Vec<Vec<f32>> = steps.iter_mut().filter_map(Iterator::next).collect();
            if step.is_empty() {
                return Ok(ended);
            }
            self.step(&step, &mut ended)?;
        }
    }

    /// Searches the next step of each signal. Adds the sentences that end in it.
    fn step(&mut self, step: &[Vec<f32>], ended: &mut Vec<Sentence>) -> Result<()> {
        for (signal, (recognizer, samples)) in self.recognizers.iter_mut().zip(step).enumerate() {
            if let State::Endpoint { .. } = recognizer.accept(samples)? {
                ended.push(Sentence { transcript: recognizer.result()?, channel: signal + 1 });
                self.has_sentence = true;
            }
        }
        Ok(())
    }

    /// Returns the words of a signal, from 0, since its last sentence, up to the last whole step.
    ///
    /// # Errors
    /// A word of the graph without a name; a signal that the recording does not have.
    pub fn partial(&mut self, signal: usize) -> Result<String> {
        match self.recognizers[..self.signals].get_mut(signal) {
            Some(recognizer) => recognizer.partial(),
            None => Err(Error::Data(format!("expected a signal below {}, found {signal}", self.signals))),
        }
    }

    /// Returns the number of samples of each signal so far.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Ends the recording, and returns the last sentence of each signal that has one.
    ///
    /// # Errors
    /// A recording without samples, or with too few for a frame; a search that fails.
    pub fn finish(&mut self) -> Result<Vec<Sentence>> {
        if self.samples == 0 {
            return Err(Error::NoSamples);
        }
        let mut ended = Vec::new();
        let rest: Vec<Vec<f32>> = self.steps.iter_mut().map(Steps::rest).collect();
        if rest.iter().any(|samples| !samples.is_empty()) {
            self.step(&rest, &mut ended)?;
        }
        for (signal, recognizer) in self.recognizers.iter_mut().take(self.signals).enumerate() {
            let transcript = recognizer.finish()?;
            if transcript.frames > 0 {
                ended.push(Sentence { transcript, channel: signal + 1 });
            }
        }
        match ended.is_empty() && !self.has_sentence {
            true => Err(Error::TooShort { samples: self.samples }),
            false => Ok(ended),
        }
    }
}
