//! Samples to words, sentence by sentence.

use std::sync::Arc;

use kaldi_online::Speaker;
use kaldi_online::endpoint::EndpointOptions;
use nnet3_decode::path;

use crate::error::Result;
use crate::model::Model;
use crate::options::RecognizerOptions;
use crate::phrases::Phrases;
use crate::speakers::SpeakerModel;
use crate::stream::{State, Stream};
use crate::transcript::{Transcript, Word};
use crate::voices::Voices;
use crate::words;

/// Recognises one sound after another, each a sequence of sentences of one speaker. Each thread has its own recogniser.
pub struct Recognizer {
    stream: Stream,
    /// In Hz.
    rate: f32,
    /// The samples of the sentence so far, and their number in the sentences before it.
    samples: Vec<f32>,
    before: usize,
    speakers: Option<Arc<SpeakerModel>>,
}

impl Recognizer {
    /// Makes a recogniser that is ready for sound of a new speaker at this rate (in Hz). Fails for options that make no
    /// sense. [`Model::options`] are the usual ones.
    pub fn new(model: &Model, rate: f32, options: &RecognizerOptions) -> Result<Recognizer> {
        Ok(Recognizer {
            stream: Stream::new(model, options)?,
            rate,
            samples: Vec::new(),
            before: 0,
            speakers: None,
        })
    }

    /// Makes transcripts have the vectors of their speakers.
    pub fn set_speaker_model(&mut self, model: Arc<SpeakerModel>) {
        self.speakers = Some(model);
    }

    /// Changes the rules for the end of a sentence, from the next samples on. Without rules the whole sound is one.
    pub fn set_endpoint(&mut self, rules: Option<EndpointOptions>) {
        self.stream.set_endpoint(rules);
    }

    /// Replaces the phrases of which sentences consist, or returns to the model's language model. Forgets the sound, and
    /// begins one of a new speaker.
    pub fn set_phrases(&mut self, phrases: Option<Phrases>) -> Result<()> {
        self.stream.set_phrases(phrases)?;
        self.reset(self.rate)
    }

    /// Sets the number of texts of a sentence, at most; 0 for its words alone.
    pub fn set_alternatives(&mut self, most: usize) {
        self.stream.set_alternatives(most);
    }

    /// The model.
    pub fn model(&self) -> &Model {
        self.stream.model()
    }

    /// Forgets the sound, and begins one of a new speaker at this rate (in Hz).
    pub fn reset(&mut self, rate: f32) -> Result<()> {
        let speaker = self.model().parts().speaker.clone();
        self.begin(rate, speaker)
    }

    /// Forgets the sound, and begins one of a speaker with this state at this rate (in Hz).
    pub fn begin(&mut self, rate: f32, speaker: Speaker) -> Result<()> {
        self.rate = rate;
        self.samples.clear();
        self.before = 0;
        self.stream.begin(speaker)
    }

    /// Takes the next samples, with the values of wave files (−32768 to 32767). At an endpoint the caller should ask for
    /// the [`result`](Self::result), but may go on. Fails if the rate does not fit the model, and if the network's outputs
    /// are not numbers; then only a new sound can be begun.
    pub fn accept(&mut self, samples: &[f32]) -> Result<State> {
        let state = self.stream.accept(self.rate, samples)?;
        self.samples.extend_from_slice(samples);
        Ok(state)
    }

    /// Returns the words of the best path of the sentence so far.
    pub fn partial(&self) -> Result<String> {
        if self.stream.frames_decoded() == 0 {
            return Ok(String::new());
        }
        let best = path::read_linear(&path::best_path(&self.stream.raw_lattice()?))?;
        let names = best.words.iter().map(|&word| self.model().word(word));
        Ok(names.collect::<Result<Vec<_>>>()?.join(" "))
    }

    /// Returns the words of the sentence so far, with times and confidences. The last word may be incomplete. The work
    /// grows with the length of the sentence.
    pub fn partial_words(&self) -> Result<Vec<Word>> {
        if self.stream.frames_decoded() == 0 {
            return Ok(Vec::new());
        }
        words::so_far(&self.stream, self.start())
    }

    /// Ends the sentence, and begins the next one of the same speaker. Samples that were not decoded belong to the next
    /// sentence.
    pub fn result(&mut self) -> Result<Transcript> {
        let decoded = self.decoded();
        let transcript = self.transcript(decoded)?;
        self.begin_next(decoded)?;
        Ok(transcript)
    }

    /// Forgets the sentence so far, and begins the next one of the same speaker. Samples that were not decoded belong to
    /// the next sentence.
    pub fn skip(&mut self) -> Result<()> {
        self.begin_next(self.decoded())
    }

    /// Samples of the sentence that the search has decoded.
    fn decoded(&self) -> usize {
        let seconds = self.stream.frames_decoded() as f32 * self.stream.output_frame_length();
        ((seconds * self.rate) as usize).min(self.samples.len())
    }

    /// Begins the sentence after so many samples of the present one.
    fn begin_next(&mut self, decoded: usize) -> Result<()> {
        let speaker = self.stream.speaker()?;
        self.stream.begin(speaker)?;
        self.samples.drain(..decoded);
        self.before += decoded;
        self.stream.accept(self.rate, &self.samples)?;
        Ok(())
    }

    /// Ends the sound, and returns its last sentence. Afterwards only a new sound can be begun.
    pub fn finish(&mut self) -> Result<Transcript> {
        self.stream.accept_last(self.rate, &[])?;
        if self.stream.frames_decoded() == 0 {
            return Ok(Transcript { start: self.start(), ..Transcript::default() });
        }
        self.transcript(self.samples.len())
    }

    /// Ends the sentence that these samples belong to.
    fn transcript(&mut self, samples: usize) -> Result<Transcript> {
        let start = self.start();
        let Some(speakers) = &self.speakers else { return words::transcript(&mut self.stream, start) };
        let parts = self.stream.model().parts();
        let silence = &parts.silence_weighting.silence_phones;
        // (The best path is known only before the end.)
        let path = self.stream.best_path();
        let speech: Vec<bool> =
            path.iter().map(|&id| !silence.contains(&parts.transitions.phone(id))).collect();
        let transcript = words::transcript(&mut self.stream, start)?;
        let (sound, speech) =
            ((self.rate, &self.samples[..samples]), (&*speech, self.stream.output_frame_length()));
        let voices = Voices::of(speakers, &transcript.words, sound, start, speech)?;
        Ok(Transcript { voices: Some(voices), ..transcript })
    }

    /// Returns the state of the speaker, for another sound of the same one.
    pub fn speaker(&mut self) -> Result<Speaker> {
        self.stream.speaker()
    }

    /// The beginning of the sentence, in seconds.
    fn start(&self) -> f64 {
        self.before as f64 / f64::from(self.rate)
    }
}
