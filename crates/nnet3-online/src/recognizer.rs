//! Samples to words, sentence by sentence.

use std::sync::Arc;

use kaldi_feat::spectral::FeatureStream;
use kaldi_feat::wave::RATES;
use kaldi_io::DenseMatrix;
use kaldi_online::Speaker;
use kaldi_online::endpoint::EndpointOptions;
use nnet3_decode::path;

use crate::error::{Error, Result};
use crate::model::Model;
use crate::options::RecognizerOptions;
use crate::phrases::Phrases;
use crate::quiet::{Quiet, is_audible};
use crate::speakers::SpeakerModel;
use crate::stream::{State, Stream};
use crate::transcript::{Transcript, Word};
use crate::voices::Voices;
use crate::words;

/// The last output frames of a sentence that its speaker's vector is made of, at most, as in vosk.
const MOST_SPEECH: usize = 500;

/// Recognises one sound after another, each a sequence of sentences of one speaker. They have no words in digital silence. Each
/// thread has its own recogniser.
pub struct Recognizer {
    stream: Stream,
    /// In Hz.
    rate: f32,
    /// The samples of the sentence so far, and their number in the sentences before it.
    samples: Vec<f32>,
    before: usize,
    /// The silence before the sound, which these samples begin with; `None` before the first of them.
    edge: Option<Edge>,
    /// True if some of these samples can be heard.
    is_audible: bool,
    /// The output frames of those sentences.
    frames_before: usize,
    voice: Option<Voice>,
}

/// The silence that a sound begins and ends with for the search, but not for anybody else.
#[derive(Debug, Clone, Copy)]
struct Edge {
    samples: usize,
    /// Output frames of the network.
    frames: usize,
    /// True if the samples end with it, too.
    has_ended: bool,
}

/// The speaker's voice in the sound so far. Features go on from sentence to sentence, as in vosk: none is lost, or computed
/// of the beginning of a resampled sound, where sentences meet.
struct Voice {
    model: Arc<SpeakerModel>,
    features: FeatureStream,
    /// The output frames of the sound before the first one of `features`, those of the silence before it included.
    since: usize,
}

impl Voice {
    /// The frame of `features` at which an output frame of `frame` seconds begins. (These are a whole number in each output
    /// frame, as a rule.)
    fn position(&self, frames: usize, frame: f32) -> usize {
        (frames.saturating_sub(self.since) as f32 * frame / self.model.frame_shift()).round() as usize
    }
}

impl Recognizer {
    /// Makes a recogniser that is ready for sound of a new speaker at this rate (in Hz). [`Model::options`] are the usual
    /// ones.
    ///
    /// # Errors
    /// Options that make no sense.
    pub fn new(model: &Model, rate: f32, options: &RecognizerOptions) -> Result<Recognizer> {
        if !(*RATES.start() as f32..=*RATES.end() as f32).contains(&rate) {
            return Err(Error::Rate { rate });
        }
        Ok(Recognizer {
            stream: Stream::new(model, options)?,
            rate,
            samples: Vec::new(),
            before: 0,
            edge: None,
            is_audible: false,
            frames_before: 0,
            voice: None,
        })
    }

    /// Makes transcripts have the vectors of their speakers. Must be called between two sentences.
    ///
    /// # Errors
    /// The features of the model cannot be made of sound that arrives in pieces.
    pub fn set_speaker_model(&mut self, model: Arc<SpeakerModel>) -> Result<()> {
        let mut features = model.features()?;
        let (silence, frames) = self.edge_of_sentence();
        features.accept(self.rate, &self.samples[silence..])?;
        self.voice = Some(Voice { model, features, since: self.frames_before + frames });
        Ok(())
    }

    /// Changes the rules for the end of a sentence, from the next samples on. Without rules the whole sound is one.
    pub fn set_endpoint(&mut self, rules: Option<EndpointOptions>) {
        self.stream.set_endpoint(rules);
    }

    /// Replaces the phrases of which sentences consist, or returns to the model's language model. Forgets the sound, and
    /// begins one of a new speaker.
    ///
    /// # Errors
    /// The search over the graph with these phrases cannot begin.
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
    ///
    /// # Errors
    /// The search over the graph cannot begin.
    pub fn reset(&mut self, rate: f32) -> Result<()> {
        let speaker = self.model().parts().speaker.clone();
        self.begin(rate, speaker)
    }

    /// Forgets the sound, and begins one of a speaker with this state at this rate (in Hz).
    ///
    /// # Errors
    /// The search over the graph cannot begin.
    pub fn begin(&mut self, rate: f32, speaker: Speaker) -> Result<()> {
        self.rate = rate;
        self.samples.clear();
        (self.before, self.edge, self.frames_before, self.is_audible) = (0, None, 0, false);
        if let Some(voice) = &mut self.voice {
            voice.features.restart();
            voice.since = 0;
        }
        self.stream.begin(speaker)
    }

    /// Takes the next samples, with the values of wave files (−32768 to 32767). At an endpoint the caller should ask for
    /// the [`result`](Self::result), but may go on.
    ///
    /// # Errors
    /// A rate that does not fit the model, outputs of the network that are not numbers, a graph that is damaged. Afterwards
    /// only a new sound can begin.
    pub fn accept(&mut self, samples: &[f32]) -> Result<State> {
        let features = &self.model().parts().features;
        if !features.takes_rate(self.rate) {
            return Err(Error::LowRate { rate: self.rate, least: features.sample_rate() });
        }
        if self.edge.is_none() && !samples.is_empty() {
            self.begin_with_silence()?;
        }
        let state = self.stream.accept(self.rate, samples)?;
        self.samples.extend_from_slice(samples);
        self.is_audible |= is_audible(samples);
        if let Some(voice) = &mut self.voice {
            voice.features.accept(self.rate, samples)?;
        }
        Ok(state)
    }

    /// The silence before and after a sound: a whole number of output frames.
    fn edge_of_sound(&self) -> Edge {
        let frame = f64::from(self.stream.output_frame_length());
        let frames = (self.stream.options().edge_silence / frame).round();
        Edge {
            samples: (frames * frame * f64::from(self.rate)).round() as usize,
            frames: frames as usize,
            has_ended: false,
        }
    }

    /// Samples and output frames of the silence that the present sentence begins with.
    fn edge_of_sentence(&self) -> (usize, usize) {
        match self.edge {
            Some(edge) if self.before == 0 => (edge.samples.min(self.samples.len()), edge.frames),
            _ => (0, 0),
        }
    }

    fn begin_with_silence(&mut self) -> Result<()> {
        let edge = self.edge_of_sound();
        self.edge = Some(edge);
        self.samples.resize(edge.samples, 0.0);
        if let Some(voice) = &mut self.voice {
            voice.since = edge.frames;
        }
        if edge.samples > 0 {
            self.stream.accept(self.rate, &self.samples)?;
        }
        Ok(())
    }

    /// Returns the words of the best path of the sentence so far; none as long as it is digital silence.
    ///
    /// # Errors
    /// A word of the graph without a name.
    pub fn partial(&mut self) -> Result<String> {
        if self.stream.frames_decoded() == 0 || !self.is_audible {
            return Ok(String::new());
        }
        let words = self.stream.best_words();
        let names = words.iter().map(|&word| self.model().word(word));
        Ok(names.collect::<Result<Vec<_>>>()?.join(" "))
    }

    /// Returns the words of the sentence so far, with times and confidences. The last word may be incomplete. The work
    /// grows with the length of the sentence.
    ///
    /// # Errors
    /// A word of the graph without a name, a lattice that cannot be determinized.
    pub fn partial_words(&self) -> Result<Vec<Word>> {
        if self.stream.frames_decoded() == 0 {
            return Ok(Vec::new());
        }
        let mut words = words::so_far(&self.stream, self.start())?;
        words.retain(self.is_in_sound());
        self.bring_within_sound(&mut words);
        Ok(words)
    }

    /// Ends the sentence, and begins the next one of the same speaker. Samples that were not decoded belong to the next
    /// sentence.
    ///
    /// # Errors
    /// A word of the graph without a name, a lattice that cannot be determinized, outputs of the network that are not
    /// numbers.
    pub fn result(&mut self) -> Result<Transcript> {
        let (decoded, frames) = (self.decoded(), self.stream.frames_decoded());
        let transcript = self.transcript()?;
        self.begin_next(decoded, frames)?;
        Ok(transcript)
    }

    /// Forgets the sentence so far, and begins the next one of the same speaker. Samples that were not decoded belong to
    /// the next sentence.
    ///
    /// # Errors
    /// Outputs of the network that are not numbers.
    pub fn skip(&mut self) -> Result<()> {
        self.begin_next(self.decoded(), self.stream.frames_decoded())
    }

    /// Samples of the sentence that the search has decoded.
    fn decoded(&self) -> usize {
        let seconds = self.stream.frames_decoded() as f32 * self.stream.output_frame_length();
        ((seconds * self.rate) as usize).min(self.samples.len())
    }

    /// Begins the sentence after so many samples and output frames of the present one.
    fn begin_next(&mut self, decoded: usize, frames: usize) -> Result<()> {
        let speaker = self.stream.speaker()?;
        self.stream.begin(speaker)?;
        self.samples.drain(..decoded);
        self.is_audible = is_audible(&self.samples);
        self.before += decoded;
        self.frames_before += frames;
        if let Some(voice) = &mut self.voice {
            let first = voice.position(self.frames_before, self.stream.output_frame_length());
            voice.features.forget_before(first);
        }
        self.stream.accept(self.rate, &self.samples)?;
        Ok(())
    }

    /// Ends the sound, and returns its last sentence. Afterwards only a new sound can be begun.
    ///
    /// # Errors
    /// A word of the graph without a name, a lattice that cannot be determinized, outputs of the network that are not
    /// numbers.
    pub fn finish(&mut self) -> Result<Transcript> {
        match self.edge {
            Some(edge) if edge.samples > 0 => {
                // (A sound that is too short for a frame has no words, whatever is around it.)
                if !self.has_frame(edge) {
                    return Ok(Transcript::default());
                }
                self.edge = Some(Edge { has_ended: true, ..edge });
                self.samples.resize(self.samples.len() + edge.samples, 0.0);
                self.stream.accept_last(self.rate, &vec![0.0; edge.samples])?;
            }
            _ => _ = self.stream.accept_last(self.rate, &[])?,
        }
        if self.stream.frames_decoded() == 0 {
            return Ok(Transcript { start: self.start().max(0.0), ..Transcript::default() });
        }
        self.transcript()
    }

    /// True if the sound so far, without the silence before it, has a frame of features.
    fn has_frame(&self, edge: Edge) -> bool {
        let seconds = (self.before + self.samples.len() - edge.samples) as f32 / self.rate;
        seconds >= 2.0 * self.model().parts().features.first_middle()
    }

    /// Ends the sentence.
    fn transcript(&mut self) -> Result<Transcript> {
        let start = self.start();
        let mut transcript = words::transcript(&mut self.stream, start)?;
        let is_in_sound = self.is_in_sound();
        transcript.retain(&is_in_sound);
        self.bring_within_sound(&mut transcript.words);
        for alternative in &mut transcript.alternatives {
            alternative.words.retain(&is_in_sound);
            self.bring_within_sound(&mut alternative.words);
        }
        transcript.start = start.max(0.0);
        let start = transcript.start;
        let Some(voice) = &self.voice else { return Ok(transcript) };
        let parts = self.stream.model().parts();
        let silence = &parts.silence_weighting.silence_phones;
        let is_speech = |&id: &i32| {
            parts
                .transitions
                .transition_id(id)
                .is_ok_and(|id| !silence.contains(&parts.transitions.phone(id)))
        };
        let lattice = self.stream.raw_lattice()?;
        let path = match lattice.start {
            Some(_) => path::read_linear(&path::best_path(&lattice))?.ids,
            None => Vec::new(),
        };
        let mut speech: Vec<bool> = path.iter().skip(self.edge_of_sentence().1).map(is_speech).collect();
        let old = speech.len().saturating_sub(MOST_SPEECH);
        speech[..old].fill(false);
        let frame = self.stream.output_frame_length();
        let first = voice.position(self.frames_before, frame);
        let mut features = DenseMatrix::new(0, voice.features.dim());
        while let Some(frame) = voice.features.frame(first + features.rows) {
            features.data.extend_from_slice(frame);
            features.rows += 1;
        }
        let voices = Voices::of(&voice.model, &transcript.words, &features, start, (&speech, frame))?;
        Ok(Transcript { voices: Some(voices), ..transcript })
    }

    /// Returns the state of the speaker, for another sound of the same one.
    ///
    /// # Errors
    /// The features of the last frames cannot be made.
    pub fn speaker(&mut self) -> Result<Speaker> {
        self.stream.speaker()
    }

    /// Tells words from those that were heard in digital silence, in the sound or around it.
    fn is_in_sound(&self) -> impl Fn(&Word) -> bool + use<> {
        let (quiet, end) = (Quiet::of(&self.samples, self.rate.into(), self.start()), self.end());
        let has_edge = self.has_edge();
        move |word| {
            !quiet.covers(word.start, word.end) && !(has_edge && (word.end <= 0.0 || word.start >= end))
        }
    }

    /// Ends words where the sound does that reach into the silence around it.
    fn bring_within_sound(&self, words: &mut [Word]) {
        if self.has_edge() {
            let end = self.end();
            for word in words {
                word.start = word.start.clamp(0.0, end);
                word.end = word.end.clamp(word.start, end);
            }
        }
    }

    fn has_edge(&self) -> bool {
        self.edge.is_some_and(|edge| edge.samples > 0)
    }

    /// The beginning of the sentence, in seconds: below 0 if silence was put before it.
    fn start(&self) -> f64 {
        (self.before as f64 - self.edge.map_or(0.0, |edge| edge.samples as f64)) / f64::from(self.rate)
    }

    /// The end of the sound so far, in seconds.
    fn end(&self) -> f64 {
        let silence = self.edge.filter(|edge| edge.has_ended).map_or(0, |edge| edge.samples);
        (self.start() + (self.samples.len() - silence) as f64 / f64::from(self.rate)).max(0.0)
    }
}
