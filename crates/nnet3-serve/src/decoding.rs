//! The blocking part of a session: samples to answers.

use nnet3_online::formats::{Segment, sort_by_time};
use nnet3_online::voices::Voices;
use nnet3_online::{
    Alternative, Effort, Model, Recognizer, RecognizerOptions, Sentence, Sentences, Speakers, State, Steps,
    Transcript, Word, json,
};
use serde_json::{Value, json};

use crate::process::Trouble;

type Result<T, E = nnet3_online::Error> = std::result::Result<T, E>;

/// Bounds of the work at the end of a sentence. A sentence of noise may have thousands of times as many arcs as one of speech.
const EFFORT: Effort = Effort { arcs: 5000 };

/// The number of phrases of a sound whose voices are compared with each other. Later phrases have no speaker.
const MOST_VOICES: usize = 2000;

/// The options of the recognisers of a server.
fn options(model: &Model) -> RecognizerOptions {
    RecognizerOptions { effort: Some(EFFORT), ..model.options().clone() }
}

/// The settings of a session of messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Manner {
    /// In Hz.
    pub rate: u32,
    /// True if results have times and confidences of words.
    pub words: bool,
    /// Texts of a sentence, at most; 0 for its words alone.
    pub alternatives: usize,
    /// The phrases of which sentences consist; without them the model's own language.
    pub phrases: Vec<String>,
    /// True if the last result of a sound has the speakers of all words. The server has a speaker model.
    pub speakers: bool,
}

impl Manner {
    /// The settings of a session that chooses none.
    pub fn of_rate(rate: u32) -> Manner {
        Manner { rate, words: true, alternatives: 0, phrases: Vec::new(), speakers: false }
    }
}

/// The voices of a sound so far, for sessions with speakers.
struct Heard {
    speakers: Speakers,
    /// The voices of each sentence with words, in order.
    voices: Vec<Voices>,
}

impl Heard {
    fn new(speakers: &Speakers) -> Heard {
        Heard { speakers: speakers.clone(), voices: Vec::new() }
    }

    /// Adds the voices of a sentence.
    fn add(&mut self, mut voices: Voices) {
        let before: usize = self.voices.iter().map(|voices| voices.phrases.len()).sum();
        let known = MOST_VOICES.saturating_sub(before);
        voices.phrases.iter_mut().skip(known).for_each(|phrase| phrase.vector = None);
        self.voices.push(voices);
    }
}

/// The recogniser of a session of messages.
pub struct Decoder {
    recognizer: Recognizer,
    /// The sound in steps: words do not depend on the lengths of messages.
    steps: Steps,
    rate: u32,
    /// The length of the sounds before this one, in samples, and samples of this one.
    before: u64,
    taken: u64,
    /// The words so far, as they were sent last.
    partial: String,
    heard: Option<Heard>,
}

impl Decoder {
    /// Makes a recogniser. Fails if the rate or the phrases do not fit the model.
    pub fn new(model: &Model, speakers: Option<&Speakers>, manner: &Manner) -> Result<Decoder> {
        let phrases = match &manner.phrases[..] {
            [] => None,
            phrases => Some(model.phrases(phrases)?),
        };
        let options = RecognizerOptions { alternatives: manner.alternatives, phrases, ..options(model) };
        let rate = manner.rate;
        let mut recognizer = Recognizer::new(model, rate as f32, &options)?;
        let heard = speakers.filter(|_| manner.speakers).map(Heard::new);
        if let Some(heard) = &heard {
            recognizer.set_speaker_model(heard.speakers.model.clone())?;
        }
        // (Only a sample is checked against the model.)
        recognizer.accept(&[0.0])?;
        recognizer.reset(rate as f32)?;
        Ok(Decoder {
            recognizer,
            steps: Steps::new(rate as f32),
            rate,
            before: 0,
            taken: 0,
            partial: String::new(),
            heard,
        })
    }

    /// Sets the number of texts of a sentence, at most; 0 for its words alone.
    pub fn set_alternatives(&mut self, most: usize) {
        self.recognizer.set_alternatives(most);
    }

    /// Takes a piece of sound. Returns the state after the last step that it completes; `None` if there is none.
    pub fn accept(&mut self, samples: &[f32]) -> Result<Option<State>> {
        self.taken += samples.len() as u64;
        let mut state = None;
        for step in self.steps.add(samples) {
            state = Some(self.recognizer.accept(&step)?);
        }
        Ok(state)
    }

    /// Returns the answer to a message: the words so far, or the result of the sentence at an endpoint.
    pub fn answer(&mut self, state: Option<State>, manner: &Manner) -> Result<Value> {
        match state {
            Some(State::Endpoint { .. }) => {
                self.partial.clear();
                let transcript = self.recognizer.result()?;
                Ok(self.result(transcript, manner))
            }
            Some(State::Listening) => {
                self.partial = self.recognizer.partial()?;
                Ok(json::partial(&self.partial))
            }
            None => Ok(json::partial(&self.partial)),
        }
    }

    /// Ends the sound, and returns the answer about its last sentence. Another sound may follow.
    pub fn end(&mut self, manner: &Manner) -> Result<Value> {
        let rest = self.steps.rest();
        if !rest.is_empty() {
            self.recognizer.accept(&rest)?;
        }
        let transcript = self.recognizer.finish()?;
        let mut answer = self.result(transcript, manner);
        if let Some(heard) = self.heard.as_mut().filter(|_| manner.speakers) {
            answer["speakers"] = json!(heard.speakers.of_words(&heard.voices)?);
            *heard = Heard::new(&heard.speakers);
        }
        self.before += self.taken;
        self.taken = 0;
        self.partial.clear();
        self.recognizer.reset(self.rate as f32)?;
        Ok(answer)
    }

    /// The answer about a sentence. Times are seconds since the session began.
    fn result(&mut self, mut transcript: Transcript, manner: &Manner) -> Value {
        let voices = transcript.voices.take().filter(|_| !transcript.words.is_empty());
        let whole = voices.as_ref().and_then(|voices| voices.whole.clone());
        if let (Some(heard), Some(voices)) = (&mut self.heard, voices) {
            heard.add(voices);
        }
        let mut answer = self.words(transcript, manner);
        if let Some(vector) = whole {
            answer["spk"] = vector.values.into();
            answer["spk_frames"] = vector.frames.into();
        }
        answer
    }

    /// The words of a sentence.
    fn words(&self, transcript: Transcript, manner: &Manner) -> Value {
        let before = self.before as f64 / f64::from(self.rate);
        let later = |words: Vec<Word>| -> Vec<Word> {
            let later = |word: Word| Word { start: word.start + before, end: word.end + before, ..word };
            words.into_iter().map(later).collect()
        };
        if manner.alternatives == 0 {
            return match manner.words {
                true => json::result(&later(transcript.words)),
                false => json!({ "text": transcript.text() }),
            };
        }
        let all = transcript.alternatives.into_iter();
        let all: Vec<Alternative> = all.map(|one| Alternative { words: later(one.words), ..one }).collect();
        let mut answer = json::alternatives(&all);
        if !manner.words {
            for one in answer["alternatives"].as_array_mut().into_iter().flatten() {
                one.as_object_mut().and_then(|one| one.remove("result"));
            }
        }
        answer
    }
}

/// The answer about a session without sound.
pub fn silence(manner: &Manner) -> Value {
    if manner.alternatives == 0 { json::result(&[]) } else { json::alternatives(&[]) }
}

/// A recording of one or more signals that is recognised piece by piece.
pub struct Recording {
    sentences: Sentences,
    /// In Hz.
    rate: u32,
    /// The number of signals.
    signals: usize,
    segments: Vec<Segment>,
    /// Voices of the segments.
    heard: Option<Heard>,
}

/// The reason why a recording cannot be recognised, for the client.
fn fault(error: nnet3_online::Error) -> Trouble {
    Trouble::Recording(reason(&error))
}

/// The text of an error for a client, who cannot give the server options.
pub fn reason(error: &nnet3_online::Error) -> String {
    match error {
        nnet3_online::Error::LowRate { rate, least } => format!(
            "the sound has {rate} Hz, and the model of this server needs {least} Hz or more; a server that is started with \
             --allow-upsample=true takes it nevertheless, with more wrong words"
        ),
        error => kaldi_io::error::chain(error),
    }
}

impl Recording {
    /// Begins a recording of `signals` signals at this rate (in Hz). With a speaker model, words have speakers.
    pub fn new(
        rate: u32,
        signals: usize,
        model: &Model,
        speakers: Option<&Speakers>,
    ) -> Result<Box<Recording>, Trouble> {
        let mut sentences = Sentences::new(model, &options(model)).map_err(fault)?;
        let heard = speakers.map(Heard::new);
        if let Some(heard) = &heard {
            sentences.set_speaker_model(heard.speakers.model.clone()).map_err(fault)?;
        }
        sentences.begin(rate as f32, signals).map_err(fault)?;
        Ok(Box::new(Recording { sentences, rate, signals, segments: Vec::new(), heard }))
    }

    /// The seconds of sound so far.
    pub fn seconds(&self) -> f64 {
        self.sentences.samples() as f64 / f64::from(self.rate)
    }

    /// Recognises the next samples of each signal. At most `most` seconds are taken, of all signals together.
    pub fn accept(
        mut self: Box<Recording>,
        samples: &[Vec<f32>],
        most: f64,
    ) -> Result<Box<Recording>, Trouble> {
        let samples_so_far = self.sentences.samples() + samples.first().map_or(0, Vec::len) as u64;
        if samples_so_far as f64 / f64::from(self.rate) * self.signals as f64 > most {
            let of_all = if self.signals > 1 { ", of all channels together" } else { "" };
            let reason = format!(
                "the recording is longer than {most} seconds{of_all}, which is the limit of this server (--max-seconds)"
            );
            return Err(Trouble::Recording(reason));
        }
        let ended = self.sentences.accept(samples).map_err(fault)?;
        self.add(ended);
        Ok(self)
    }

    fn add(&mut self, ended: Vec<Sentence>) {
        for sentence in ended {
            let (segment, voices) = sentence.into_segment(0.0);
            self.segments.push(segment);
            if let (Some(heard), Some(voices)) = (&mut self.heard, voices) {
                heard.add(voices);
            }
        }
    }

    /// Returns the sentences that have ended so far, in the order of their ends.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Ends the recording, and returns all text, in the order of time.
    pub fn finish(mut self: Box<Recording>) -> Result<Vec<Segment>, Trouble> {
        let ended = self.sentences.finish().map_err(fault)?;
        self.add(ended);
        if let Some(Heard { speakers, voices }) = self.heard {
            speakers.label(&mut self.segments, voices).map_err(fault)?;
        }
        sort_by_time(&mut self.segments);
        Ok(self.segments)
    }
}
