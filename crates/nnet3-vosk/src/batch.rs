//! The recognisers of a batch model. vosk runs them together on a GPU; here each computes on the CPU when it gets samples.

use std::collections::VecDeque;
use std::ffi::{CStr, CString};

use nnet3_online::{Error, Model, Recognizer, SampleBytes, State, Transcript, piece};

use crate::layout;
use crate::session::c_text;

pub struct BatchRecognizer {
    recognizer: Recognizer,
    /// In Hz.
    rate: f32,
    /// True if the next samples begin another sound.
    is_over: bool,
    nlsml: bool,
    /// A byte of half a sample, at the end of the last piece of sound.
    odd: SampleBytes,
    /// Results that were not taken.
    results: VecDeque<CString>,
}

impl BatchRecognizer {
    /// Makes a recogniser for sound at this rate (in Hz). Fails unless the rate is a positive number.
    pub fn new(model: &Model, rate: f32) -> Result<BatchRecognizer, Error> {
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(Error::Data(format!("the sample rate must be a positive number, found {rate}")));
        }
        let recognizer = Recognizer::new(model, rate, model.options())?;
        Ok(BatchRecognizer {
            recognizer,
            rate,
            is_over: false,
            nlsml: false,
            odd: SampleBytes::default(),
            results: VecDeque::new(),
        })
    }

    pub fn set_nlsml(&mut self, nlsml: bool) {
        self.nlsml = nlsml;
    }

    /// The byte of half a sample that waits for its other half.
    pub fn odd_byte(&mut self) -> &mut SampleBytes {
        &mut self.odd
    }

    /// Takes the next samples, with the values of wave files. Keeps results of sentences that end.
    pub fn accept(&mut self, samples: &[f32]) -> Result<(), Error> {
        if std::mem::replace(&mut self.is_over, true) {
            self.recognizer.reset(self.rate)?;
        }
        for samples in samples.chunks(piece(self.rate)) {
            if let State::Endpoint { .. } = self.recognizer.accept(samples)? {
                let transcript = self.recognizer.result()?;
                self.keep(&transcript);
            }
        }
        self.is_over = false;
        Ok(())
    }

    /// Ends the sound, and keeps the result of its last sentence.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.odd = SampleBytes::default();
        if !std::mem::replace(&mut self.is_over, true) {
            let transcript = self.recognizer.finish()?;
            self.keep(&transcript);
        }
        Ok(())
    }

    fn keep(&mut self, Transcript { frames, words, .. }: &Transcript) {
        if *frames == 0 {
            return;
        }
        let mean = words.iter().map(|word| f64::from(word.confidence)).sum::<f64>() / words.len() as f64;
        self.results.push_back(c_text(match self.nlsml {
            true => layout::nlsml([(mean, &**words)]),
            false => layout::sentence(words, 0.0, true, None).print(),
        }));
    }

    /// The oldest result; empty without one.
    pub fn front(&self) -> &CStr {
        self.results.front().map_or(c"", CString::as_c_str)
    }

    /// Forgets the oldest result.
    pub fn pop(&mut self) {
        self.results.pop_front();
    }
}
