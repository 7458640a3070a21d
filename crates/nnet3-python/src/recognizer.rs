//! Recognition.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nnet3_online::{ModelOptions, SampleBytes, State, Steps, Transcript, json};
use numpy::PyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::arrays;
use crate::error::raised;
use crate::names::Source;
use crate::network::Network;
use crate::stack::detach;

/// Model(folder, allow_upsample=False): the folder of a recogniser's model, which recognisers on many threads share.
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
    #[pyo3(signature = (folder, allow_upsample = false, threads = 1))]
    fn new(py: Python<'_>, folder: PathBuf, allow_upsample: bool, threads: usize) -> PyResult<Model> {
        let threads = NonZero::new(threads)
            .ok_or_else(|| PyValueError::new_err("threads: expected at least 1, found 0"))?;
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

    /// inputs(samples, rate): what the network reads of a sound, a pair of arrays for compute(): features, and i-vectors with a row
    /// every 10 frames. i-vectors are None if the network reads none.
    ///
    /// `samples` are those of features(). The features are those of the recogniser, with pitch if the model has it. I-vectors are
    /// those of a new speaker. Silence counts as speech in them, unlike in a recogniser.
    fn inputs<'py>(&self, py: Python<'py>, samples: &Bound<'py, PyAny>, rate: f32) -> PyResult<Inputs<'py>> {
        let samples = arrays::samples(samples, arrays::whole_samples)?;
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

/// Recognizer(model, rate, phrases=None, alternatives=0): recognises one sound after another, sentence by sentence.
///
/// `rate` is in Hz. `phrases` is a list of texts that take the place of the model's language model; it needs a graph of two
/// halves. With `alternatives`, results have the likeliest texts. A recogniser may pass from thread to thread.
#[pyclass(module = "nnet3", frozen)]
pub struct Recognizer(Mutex<Session>);

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
    alternatives: bool,
}

impl Recognizer {
    fn session(&self) -> MutexGuard<'_, Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Recognizer {
    #[new]
    #[pyo3(signature = (model, rate, phrases = None, alternatives = 0))]
    fn new(
        py: Python<'_>,
        model: &Model,
        rate: f32,
        phrases: Option<Vec<String>>,
        alternatives: usize,
    ) -> PyResult<Recognizer> {
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(PyValueError::new_err(format!("rate: expected a positive number, found {rate}")));
        }
        let model = &model.model;
        detach(py, || {
            let phrases = phrases.map(|phrases| model.phrases(&phrases)).transpose().map_err(raised)?;
            let options =
                nnet3_online::RecognizerOptions { phrases, alternatives, ..model.options().clone() };
            let recognizer = nnet3_online::Recognizer::new(model, rate, &options).map_err(raised)?;
            Ok(Recognizer(Mutex::new(Session {
                recognizer,
                rate,
                steps: Steps::new(rate),
                is_over: false,
                odd: SampleBytes::default(),
                alternatives: alternatives > 0,
            })))
        })
    }

    /// accept(samples): takes the next samples. Returns True at the end of a sentence: then call result().
    ///
    /// `samples` is an array of int16, float32 or float64 with the values of wave files (-32768 to 32767), or bytes with 16
    /// bits a sample, the low byte first; an odd byte at their end belongs to the first sample of the next bytes. The
    /// search gets them in steps of 0.2 s from the beginning of the sound, whatever the sizes of pieces.
    fn accept(&self, py: Python<'_>, samples: &Bound<'_, PyAny>) -> PyResult<bool> {
        let samples =
            arrays::samples(samples, |bytes| Ok(self.session().odd.take(bytes, i16::from_le_bytes)))?;
        detach(py, || self.session().accept(&samples).map_err(raised))
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
        for step in self.steps.add(samples) {
            state = self.recognizer.accept(&step)?;
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
