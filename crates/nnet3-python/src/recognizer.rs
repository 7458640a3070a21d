//! Recognition.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nnet3_online::{ModelOptions, SampleBytes, State, Steps, Transcript, json};
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::arguments;
use crate::arrays;
use crate::error::raised;
use crate::names::{self, Source};
use crate::network::Network;
use crate::recording::ignored_words;
use crate::scale::Scale;
use crate::stack::detach;

/// Model(folder, allow_upsample=False, threads=1): the folder of a recogniser's model, which recognisers on many threads share.
///
/// The folder has vosk's form, as published or as scripts/recognizer.sh makes it. `allow_upsample` takes sound at a lower
/// rate than the model's as well. `threads` prepare the i-vector extractor.
#[pyclass(module = "nnet3", frozen)]
pub struct Model {
    pub(crate) model: nnet3_online::Model,
    folder: PathBuf,
    /// The network for `compute`, once it has been needed.
    network: PyOnceLock<Py<Network>>,
}

/// Features and i-vectors.
type Inputs<'py> = (Bound<'py, PyArray2<f32>>, Option<Bound<'py, PyArray2<f32>>>);

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (folder, allow_upsample = false, threads = None))]
    #[pyo3(text_signature = "(folder, allow_upsample=False, threads=1)")]
    fn new(
        py: Python<'_>,
        folder: &Bound<'_, PyAny>,
        allow_upsample: bool,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Model> {
        let folder = names::path("folder", folder)?;
        let threads = arguments::threads(threads)?;
        let options = ModelOptions { allow_upsample, threads, ..ModelOptions::default() };
        let model = detach(py, || nnet3_online::Model::open(&folder, &options).map_err(raised))?;
        Ok(Model { model, folder, network: PyOnceLock::new() })
    }

    /// network(output="output"): the network of the acoustic model.
    #[pyo3(signature = (output = "output"))]
    fn network(&self, py: Python<'_>, output: &str) -> PyResult<Network> {
        let file = nnet3_online::acoustic_model(&self.folder).map_err(raised)?;
        Network::read(py, &Source::Path(file), output)
    }

    /// compute(features, ivectors=None, ...): the acoustic model's scores of pdfs. The same as network().compute(...), for a
    /// network that is read once.
    #[pyo3(signature = (features, ivectors = None, **options))]
    #[pyo3(
        text_signature = "($self, features, ivectors=None, *, frames_per_chunk=50, frame_subsampling_factor=1, \
                             extra_left_context=0, extra_right_context=0, extra_left_context_initial=-1, \
                             extra_right_context_final=-1, acoustic_scale=1.0, use_priors=False, online_ivector_period=10)"
    )]
    fn compute<'py>(
        &self,
        py: Python<'py>,
        features: &Bound<'py, PyAny>,
        ivectors: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let network = self.network.get_or_try_init(py, || Py::new(py, self.network(py, "output")?))?;
        network.bind(py).call_method("compute", (features, ivectors), options)
    }

    /// inputs(samples, sample_rate): what the network reads of a sound, a pair of arrays for compute(): features, and i-vectors with a row
    /// every 10 frames. i-vectors are None if the network reads none.
    ///
    /// `samples` are those of features(). The features are those of the recogniser, with pitch if the model has it. I-vectors are
    /// those of a new speaker. Silence counts as speech in them, unlike in a recogniser.
    #[pyo3(signature = (samples, sample_rate = None, *, rate = None))]
    #[pyo3(text_signature = "($self, samples, sample_rate)")]
    fn inputs<'py>(
        &self,
        py: Python<'py>,
        samples: &Bound<'py, PyAny>,
        sample_rate: Option<&Bound<'py, PyAny>>,
        rate: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Inputs<'py>> {
        let rate = arguments::sample_rate(sample_rate, rate)? as f32;
        let samples = arrays::samples(samples, arrays::whole_samples)?.alone()?;
        let made = detach(py, || self.model.inputs(rate, &samples).map_err(raised))?;
        let ivectors = made.ivectors.map(|ivectors| arrays::to_matrix(py, ivectors)).transpose()?;
        Ok((arrays::to_matrix(py, made.features)?, ivectors))
    }

    fn __repr__(&self) -> String {
        let rate = self.model.sample_rate();
        format!("<nnet3.Model {:?}: {rate} Hz>", self.folder.display().to_string())
    }

    /// The rate (in Hz) of sound that needs no resampling.
    #[getter]
    fn sample_rate(&self) -> f32 {
        self.model.sample_rate()
    }

    /// Messages while the model was opened, such as files that have no effect.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        let warnings = self.model.notices().iter().filter(|notice| notice.is_warning());
        warnings.map(ToString::to_string).collect()
    }

    /// Returns the number of a word; None if the model does not have the word.
    fn word_number(&self, word: &str) -> Option<i32> {
        self.model.word_number(word)
    }
}

/// Recognizer(model, sample_rate, phrases=None, alternatives=0): recognises one sound after another, sentence by sentence.
///
/// `sample_rate` is in Hz; `rate=` is its older name. `phrases` is a list of texts that take the place of the model's language model; it needs a model of recognizer.sh, or a
/// graph of two halves; a UserWarning names words that the model lacks. With `alternatives`, 1000 at most, results have the likeliest texts. A recogniser may pass from thread to thread.
#[pyclass(module = "nnet3", frozen)]
pub struct Recognizer(Mutex<Box<Session>>); // (Larger than the stack that a thread of Python may have.)

/// Samples that are cut into steps at once.
const PIECE: usize = 1 << 16;

struct Session {
    recognizer: nnet3_online::Recognizer,
    /// In Hz.
    rate: f32,
    /// The sound in steps, so that words do not depend on the sizes of pieces.
    steps: Steps,
    /// True if the next samples begin another sound.
    is_over: bool,
    /// A byte of half a sample, at the end of the last bytes.
    odd: SampleBytes,
    /// The scale of the sound's floats, once they tell.
    scale: Option<Scale>,
    alternatives: bool,
}

impl Recognizer {
    fn session(&self) -> MutexGuard<'_, Box<Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Recognizer {
    #[new]
    #[pyo3(signature = (model, sample_rate = None, phrases = None, alternatives = None, *, rate = None))]
    #[pyo3(text_signature = "(model, sample_rate, phrases=None, alternatives=0)")]
    fn new(
        py: Python<'_>,
        model: &Model,
        sample_rate: Option<&Bound<'_, PyAny>>,
        phrases: Option<&Bound<'_, PyAny>>,
        alternatives: Option<&Bound<'_, PyAny>>,
        rate: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Recognizer> {
        let rate = arguments::sample_rate(sample_rate, rate)? as f32;
        let phrases = arguments::texts("phrases", phrases)?;
        let alternatives = arguments::alternatives(alternatives)?;
        let model = &model.model;
        let phrases =
            detach(py, || phrases.map(|phrases| model.phrases(&phrases)).transpose().map_err(raised))?;
        for sentence in phrases.iter().flat_map(ignored_words) {
            arrays::warn(py, &sentence)?;
        }
        detach(py, || {
            let options =
                nnet3_online::RecognizerOptions { phrases, alternatives, ..model.options().clone() };
            let recognizer = nnet3_online::Recognizer::new(model, rate, &options).map_err(raised)?;
            Ok(Recognizer(Mutex::new(Box::new(Session {
                recognizer,
                rate,
                steps: Steps::new(rate),
                is_over: false,
                odd: SampleBytes::default(),
                scale: None,
                alternatives: alternatives > 0,
            }))))
        })
    }

    /// accept(samples): takes the next samples. Returns True at the end of a sentence: then call result().
    ///
    /// `samples` is an array of int16, float32 or float64, or bytes with 16 bits a sample, the low byte first; an odd byte at their end
    /// belongs to the first sample of the next bytes. Floats are between -1 and 1, or have the values of int16: the first ones that
    /// are not all -1, 0 or 1 decide that for the sound, as in features(). A ValueError says that a louder one contradicts it, or that
    /// a sample is NaN or infinite; these samples are not taken. The search gets samples in steps of 0.2 s from the beginning of
    /// the sound, whatever the sizes of pieces.
    fn accept(&self, py: Python<'_>, samples: &Bound<'_, PyAny>) -> PyResult<bool> {
        let samples =
            arrays::samples(samples, |bytes| Ok(self.session().odd.take(bytes, i16::from_le_bytes)))?;
        detach(py, || {
            let mut session = self.session();
            if session.is_over {
                session.scale = None;
            }
            let samples = samples.in_sound(&mut session.scale)?;
            session.accept(&samples).map_err(raised)
        })
    }

    /// The words of the sentence so far, a text.
    fn partial(&self, py: Python<'_>) -> PyResult<String> {
        detach(py, || {
            let mut session = self.session();
            if session.is_over {
                return Ok(String::new());
            }
            session.recognizer.partial().map_err(raised)
        })
    }

    /// Ends the sentence: a dictionary with start, end, text and words (word, start, end, conf). Times are in seconds from
    /// the beginning of the sound.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.end(py, |session| match session.is_over {
            true => Ok(Transcript::default()),
            false => session.recognizer.result(),
        })
    }

    /// Ends the sound, and returns its last sentence as result() does. The next samples begin another sound.
    fn final_result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.end(py, |session| {
            session.odd = SampleBytes::default();
            match std::mem::replace(&mut session.is_over, true) {
                true => Ok(Transcript::default()),
                false => session.finish(),
            }
        })
    }

    /// Forgets the sound.
    fn reset(&self) {
        let mut session = self.session();
        (session.is_over, session.odd) = (true, SampleBytes::default());
    }
}

impl Recognizer {
    fn end<'py>(
        &self,
        py: Python<'py>,
        finish: impl Fn(&mut Session) -> nnet3_online::Result<Transcript> + Sync,
    ) -> PyResult<Bound<'py, PyAny>> {
        let value = detach(py, || -> PyResult<Value> {
            let mut session = self.session();
            let transcript = finish(&mut session).map_err(raised)?;
            let mut value = json::sentence(&transcript.words);
            if let (true, Some(value)) = (session.alternatives, value.as_object_mut())
                && let Value::Object(found) = json::alternatives(&transcript.alternatives)
            {
                value.extend(found);
            }
            Ok(value)
        })?;
        to_python(py, &value)
    }
}

impl Session {
    fn accept(&mut self, samples: &[f32]) -> nnet3_online::Result<bool> {
        // After an error only another sound can be begun.
        if std::mem::replace(&mut self.is_over, true) {
            self.recognizer.reset(self.rate)?;
            self.steps = Steps::new(self.rate);
        }
        let mut state = State::Listening;
        // (Piece by piece: steps are copies.)
        for piece in samples.chunks(PIECE) {
            for step in self.steps.add(piece) {
                state = self.recognizer.accept(&step)?;
            }
        }
        self.is_over = false;
        Ok(matches!(state, State::Endpoint { .. }))
    }

    /// Takes the samples behind the last whole step, and ends the sound.
    fn finish(&mut self) -> nnet3_online::Result<Transcript> {
        let rest = self.steps.rest();
        if !rest.is_empty() {
            self.recognizer.accept(&rest)?;
        }
        self.recognizer.finish()
    }
}

/// A value of Python.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (value.to_string(),))
}
