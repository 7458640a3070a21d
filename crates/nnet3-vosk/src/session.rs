//! A recogniser in vosk's states.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use kaldi_online::endpoint::EndpointOptions;
use nnet3_online::speakers::SpeakerModel;
use nnet3_online::{Error, Model, Phrases, Recognizer, SampleBytes, State, Transcript, Warning, piece};

use crate::layout;
use crate::log;

/// Largest number of texts of a sentence: a lattice may have more paths than fit into memory.
const MOST_ALTERNATIVES: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// No sound so far, of this recogniser or of its grammar.
    New,
    /// A sentence has begun.
    Running,
    /// The result of a sentence was taken, or the sentence was dropped.
    Ended,
    /// The last result of a sound was taken, or the last call failed: the next samples begin another sound.
    Over,
}

/// A recogniser with the settings and states of vosk's.
pub struct Session {
    recognizer: Recognizer,
    /// In Hz.
    rate: f32,
    stage: Stage,
    words: bool,
    partial_words: bool,
    nlsml: bool,
    alternatives: usize,
    /// Samples of the sounds before this one, and of this one.
    before: u64,
    taken: u64,
    /// A byte of half a sample, at the end of the last piece of sound.
    odd: SampleBytes,
    /// The last result.
    text: CString,
}

impl Session {
    /// Makes a session for sound at this rate (in Hz). Fails unless the rate is a positive number.
    pub fn new(model: &Model, rate: f32) -> Result<Session, Error> {
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(Error::Data(format!("the sample rate must be a positive number, found {rate}")));
        }
        Ok(Session {
            recognizer: Recognizer::new(model, rate, model.options())?,
            rate,
            stage: Stage::New,
            words: false,
            partial_words: false,
            nlsml: false,
            alternatives: 0,
            before: 0,
            taken: 0,
            odd: SampleBytes::default(),
            text: CString::default(),
        })
    }

    pub fn set_words(&mut self, words: bool) {
        self.words = words;
    }

    pub fn set_partial_words(&mut self, words: bool) {
        self.partial_words = words;
    }

    pub fn set_nlsml(&mut self, nlsml: bool) {
        self.nlsml = nlsml;
    }

    /// Sets the number of texts of a sentence. Returns it: at most [`MOST_ALTERNATIVES`].
    pub fn set_alternatives(&mut self, most: usize) -> usize {
        self.alternatives = most.min(MOST_ALTERNATIVES);
        self.recognizer.set_alternatives(self.alternatives);
        self.alternatives
    }

    /// Adds a speaker model. Fails within a sentence.
    pub fn set_speaker_model(&mut self, model: Arc<SpeakerModel>) -> Result<(), Error> {
        self.check_between("a speaker model")?;
        self.recognizer.set_speaker_model(model)
    }

    /// Replaces the grammar; `None` returns to the model's language model. Fails within a sentence.
    pub fn set_phrases(&mut self, phrases: Option<Phrases>) -> Result<(), Error> {
        self.check_between("a grammar")?;
        self.stage = Stage::Over;
        self.recognizer.set_phrases(phrases)?;
        self.count_sound();
        self.stage = Stage::New;
        Ok(())
    }

    fn check_between(&self, what: &str) -> Result<(), Error> {
        match self.stage {
            Stage::Running => Err(Error::Data(format!("{what} cannot be set within a sentence"))),
            _ => Ok(()),
        }
    }

    pub fn model(&self) -> &Model {
        self.recognizer.model()
    }

    /// Multiplies the silences at the end of sentences (rules 2 to 4 of the model).
    pub fn scale_endpoints(&mut self, scale: f32) {
        self.change_endpoints(|rules| {
            rules.rules[1..4].iter_mut().for_each(|rule| rule.min_trailing_silence *= scale);
        });
    }

    /// Sets the silence that ends a sound without words, the silence after words, and the length of the longest sentence,
    /// in seconds.
    pub fn set_endpoint_delays(&mut self, start: f32, end: f32, longest: f32) {
        self.change_endpoints(|rules| {
            for (rule, silence) in rules.rules.iter_mut().zip([start, end, end + 0.5, end + 1.0]) {
                rule.min_trailing_silence = silence;
            }
            rules.rules[4].min_utterance_length = longest;
        });
    }

    /// Changes the rules of the model. A model without phones of silence has no rules.
    fn change_endpoints(&mut self, change: impl FnOnce(&mut EndpointOptions)) {
        let mut rules = self.model().options().endpoint.clone();
        if let Some(rules) = &mut rules {
            change(rules);
        }
        self.recognizer.set_endpoint(rules);
    }

    /// The byte of half a sample that waits for its other half.
    pub fn odd_byte(&mut self) -> &mut SampleBytes {
        &mut self.odd
    }

    /// Takes the next samples, with the values of wave files. True at the end of a sentence. After an error the next
    /// samples begin another sound.
    pub fn accept(&mut self, samples: &[f32]) -> Result<bool, Error> {
        let was = std::mem::replace(&mut self.stage, Stage::Over);
        if was == Stage::Over {
            self.count_sound();
            self.recognizer.reset(self.rate)?;
        }
        self.taken += samples.len() as u64;
        let mut state = State::Listening;
        let pieces = samples.chunks(piece(self.rate)).chain(samples.is_empty().then_some(samples));
        for samples in pieces {
            state = self.recognizer.accept(samples)?;
        }
        self.stage = Stage::Running;
        Ok(matches!(state, State::Endpoint { .. }))
    }

    /// Counts the samples of a sound that is over.
    fn count_sound(&mut self) {
        self.before += std::mem::take(&mut self.taken);
    }

    /// Seconds of the sounds before this one.
    fn offset(&self) -> f64 {
        self.before as f64 / f64::from(self.rate)
    }

    /// Ends the sentence, and returns its result. An empty one if no sentence has begun.
    pub fn result(&mut self) -> Result<&CStr, Error> {
        self.end(Stage::Ended, Recognizer::result)
    }

    /// Ends the sound, and returns the result of its last sentence. An empty one if no sentence has begun.
    pub fn final_result(&mut self) -> Result<&CStr, Error> {
        self.odd = SampleBytes::default();
        self.end(Stage::Over, Recognizer::finish)
    }

    fn end(
        &mut self,
        next: Stage,
        finish: impl FnOnce(&mut Recognizer) -> Result<Transcript, Error>,
    ) -> Result<&CStr, Error> {
        if self.stage != Stage::Running {
            return Ok(self.empty());
        }
        self.stage = Stage::Over;
        let transcript = finish(&mut self.recognizer)?;
        self.stage = next;
        for warning in &transcript.warnings {
            log::warning("vosk_recognizer_result", warning);
        }
        let has_path = !transcript.warnings.iter().any(|warning| matches!(warning, Warning::NoPath { .. }));
        if transcript.frames == 0 || !has_path {
            return Ok(self.empty());
        }
        let text = self.print(&transcript);
        Ok(self.keep(text))
    }

    fn print(&self, transcript: &Transcript) -> String {
        let vector = transcript.voices.as_ref().and_then(|voices| voices.whole.as_ref());
        let offset = self.offset();
        if self.alternatives == 0 {
            return layout::sentence(&transcript.words, offset, self.words, vector).print();
        }
        let found = &transcript.alternatives;
        if self.nlsml {
            return layout::nlsml(found.iter().map(|found| (found.log_likelihood, &*found.words)));
        }
        layout::alternatives(found, offset, self.words, vector).print()
    }

    /// Returns the words so far.
    pub fn partial_result(&mut self) -> Result<&CStr, Error> {
        if self.stage != Stage::Running {
            return Ok(self.empty());
        }
        let value = match self.partial_words {
            true => layout::partial(&self.recognizer.partial_words()?, self.offset()),
            false => layout::partial_text(self.recognizer.partial()?),
        };
        Ok(self.keep(value.print()))
    }

    /// Drops the sentence.
    pub fn reset(&mut self) -> Result<(), Error> {
        self.empty();
        self.odd = SampleBytes::default();
        if self.stage == Stage::Running {
            self.stage = Stage::Over;
            self.recognizer.skip()?;
            self.stage = Stage::Ended;
        }
        Ok(())
    }

    /// Returns the result of no sentence.
    pub fn empty(&mut self) -> &CStr {
        self.keep(layout::empty(self.alternatives > 0, self.nlsml).to_owned())
    }

    fn keep(&mut self, text: String) -> &CStr {
        self.text = c_text(text);
        &self.text
    }
}

/// Returns a text for C, without the zeros that would end it.
pub fn c_text(text: impl Into<Vec<u8>>) -> CString {
    let mut bytes = text.into();
    bytes.retain(|&byte| byte != 0);
    CString::new(bytes).unwrap_or_default()
}
