//! Recognition.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nnet3_online::{ModelOptions, SampleBytes, State, Steps, Transcript, json};
use numpy::PyArray2;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use serde_json::Value;

use crate::arguments;
use crate::arrays;
use crate::error::{raised, raised_with};
use crate::names::{self, Source};
use crate::network::Network;
use crate::recording::ignored_words;
use crate::scale::{Samples, Scale};
use crate::signals::Signals;
use crate::stack::detach;
use crate::wording;

/// The folder of a recogniser's model, which recognisers on many threads share.
///
/// The folder has vosk's form, as published or as scripts/recognizer.sh makes it. Sound at a lower rate than the model's is
/// upsampled, with a UserWarning, since more words are wrong then; with allow_upsample=False it raises Error. `threads` prepare the
/// i-vector extractor. A model can be pickled, for other processes: it is opened again there.
#[pyclass(module = "nnet3", frozen)]
pub struct Model {
    pub(crate) model: nnet3_online::Model,
    folder: PathBuf,
    allow_upsample: bool,
    threads: NonZero<usize>,
    /// The network for `compute`, once it has been needed.
    network: PyOnceLock<Py<Network>>,
}

/// Features and i-vectors.
type Inputs<'py> = (Bound<'py, PyArray2<f32>>, Option<Bound<'py, PyArray2<f32>>>);

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (folder, allow_upsample = true, threads = None))]
    #[pyo3(text_signature = "(folder, allow_upsample=True, threads=1)")]
    fn new(
        py: Python<'_>,
        folder: &Bound<'_, PyAny>,
        allow_upsample: bool,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Model> {
        let folder = names::path("folder", folder)?;
        let threads = arguments::threads(threads)?;
        let options = ModelOptions { allow_upsample, threads, ..ModelOptions::default() };
        let model = detach(py, || nnet3_online::Model::open(&folder, &options).map_err(of_model))?;
        Ok(Model { model, folder, allow_upsample, threads, network: PyOnceLock::new() })
    }

    /// The network of the acoustic model, with this output.
    #[pyo3(signature = (output = "output"))]
    fn network(&self, py: Python<'_>, output: &str) -> PyResult<Network> {
        let file = nnet3_online::acoustic_model(&self.folder).map_err(raised)?;
        Network::read(py, &Source::Path(file), output)
    }

    /// The acoustic model's scores of pdfs: the same as network().compute(...), for a network that is read once.
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

    /// The input of the network for a sound, a pair of arrays for compute(): features, and i-vectors with a row every 10 frames, or None if
    /// the network reads none.
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
        let rate = arguments::recognised_rate(sample_rate, rate)? as f32;
        let samples = arrays::samples(samples, arrays::whole_samples)?.alone()?;
        self.check_rate(py, rate)?;
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

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> (Bound<'py, PyType>, (PathBuf, bool, usize)) {
        let model = this.get();
        (this.get_type(), (model.folder.clone(), model.allow_upsample, model.threads.get()))
    }
}

impl Model {
    /// Warns of sound at a lower rate (in Hz) than the model's, or raises Error if the model does not take it.
    fn check_rate(&self, py: Python<'_>, rate: f32) -> PyResult<()> {
        let least = self.model.sample_rate();
        if rate >= least {
            return Ok(());
        }
        if !self.allow_upsample {
            return Err(of_model(nnet3_online::Error::LowRate { rate, least }));
        }
        match low_rate(&self.model, rate) {
            Some(sentence) => arrays::warn(py, &sentence),
            None => Ok(()),
        }
    }
}

/// The model of an argument. Raises TypeError for other objects, such as the name of its folder.
pub fn model_of<'a, 'py>(object: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, Model>> {
    object.cast::<Model>().map_err(|_| {
        let found = arguments::type_name(object);
        PyTypeError::new_err(format!(
            "model: expected a Model, as nnet3.Model(folder) opens it, found {found}"
        ))
    })
}

/// A sentence about sound at this rate (in Hz), if the model needs a higher one.
pub fn low_rate(model: &nnet3_online::Model, rate: f32) -> Option<String> {
    model.low_rate(rate).map(|low| low.to_string())
}

/// The exception for an error of a recogniser.
pub fn of_model(error: nnet3_online::Error) -> PyErr {
    raised_with(error, |text| wording::in_python(&text, wording::MODEL))
}

/// Recognises one sound after another, sentence by sentence.
///
/// `sample_rate` is in Hz, from 1000 to 192000; `rate=` is its older name. A UserWarning says if it is lower than the model's.
/// `phrases` is a list of texts that take the place of the model's language model; it needs a model of recognizer.sh, or a
/// graph of two halves; a UserWarning names words that the model lacks. With `alternatives`, 1000 at most, results have the likeliest
/// texts. A recogniser may pass from thread to thread.
#[pyclass(module = "nnet3", frozen)]
pub struct Recognizer {
    session: Mutex<Box<Session>>, // (Larger than the stack that a thread of Python may have.)
    model: Py<Model>,
    /// In Hz.
    rate: f32,
    alternatives: usize,
}

/// Samples that are cut into steps at once, and between two looks for signals.
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
    alternatives: usize,
}

impl Recognizer {
    fn session(&self) -> MutexGuard<'_, Box<Session>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Recognizer {
    #[new]
    #[pyo3(signature = (model, sample_rate = None, phrases = None, alternatives = None, *, rate = None))]
    #[pyo3(text_signature = "(model, sample_rate, phrases=None, alternatives=0)")]
    fn new(
        py: Python<'_>,
        model: &Bound<'_, PyAny>,
        sample_rate: Option<&Bound<'_, PyAny>>,
        phrases: Option<&Bound<'_, PyAny>>,
        alternatives: Option<&Bound<'_, PyAny>>,
        rate: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Recognizer> {
        let rate = arguments::recognised_rate(sample_rate, rate)? as f32;
        let phrases = arguments::texts("phrases", phrases)?;
        let alternatives = arguments::alternatives(alternatives)?;
        let model = model_of(model)?;
        let of = model.clone().unbind();
        let folder = model.get();
        let model = &folder.model;
        let phrases =
            detach(py, || phrases.map(|phrases| model.phrases(&phrases)).transpose().map_err(raised))?;
        for sentence in phrases.iter().flat_map(ignored_words) {
            arrays::warn(py, &sentence)?;
        }
        folder.check_rate(py, rate)?;
        let session = detach(py, || {
            let options =
                nnet3_online::RecognizerOptions { phrases, alternatives, ..model.options().clone() };
            let recognizer = nnet3_online::Recognizer::new(model, rate, &options).map_err(of_model)?;
            Ok(Box::new(Session {
                recognizer,
                rate,
                steps: Steps::new(rate),
                is_over: false,
                odd: SampleBytes::default(),
                scale: None,
                alternatives,
            }))
        })?;
        Ok(Recognizer { session: Mutex::new(session), model: of, rate, alternatives })
    }

    fn __repr__(&self) -> String {
        let folder = self.model.get().folder.display().to_string();
        let (rate, alternatives) = (self.rate, self.alternatives);
        let texts = if alternatives > 0 { format!(", {alternatives} alternatives") } else { String::new() };
        format!("<nnet3.Recognizer of {folder:?}: {rate} Hz{texts}>")
    }

    /// The model.
    #[getter]
    fn model(&self, py: Python<'_>) -> Py<Model> {
        self.model.clone_ref(py)
    }

    /// The rate of the samples in Hz.
    #[getter]
    fn sample_rate(&self) -> f32 {
        self.rate
    }

    /// Takes the next samples. Returns True at the end of a sentence: then call result().
    ///
    /// `samples` is an array of int16, float32 or float64 (of samples, or of samples × 1), or bytes, or another buffer, with 16 bits a
    /// sample, the low byte first; an odd byte at their end belongs to the first sample of the next bytes. Floats are between -1 and 1, or have the values of int16: the first ones that
    /// are not all -1, 0 or 1 decide that for the sound, as in features(). A ValueError says that a louder one contradicts it, or that
    /// a sample is NaN or infinite; these samples are not taken. The search gets samples in steps of 0.2 s from the beginning of
    /// the sound, whatever the sizes of pieces. Ctrl-C ends a call with many samples; the next ones then begin another sound.
    fn accept(&self, py: Python<'_>, samples: &Bound<'_, PyAny>) -> PyResult<bool> {
        let samples =
            arrays::samples(samples, |bytes| Ok(self.session().odd.take(bytes, i16::from_le_bytes)))?;
        detach(py, || {
            let samples = self.session().scaled(samples)?;
            let mut signals = Signals::default();
            // (Piece by piece: steps are copies.)
            let (first, others) = samples.split_at(PIECE.min(samples.len()));
            let mut has_ended = self.session().accept(first)?.unwrap_or(false);
            for piece in others.chunks(PIECE) {
                // (Not while the session is locked: another thread may wait for it with the interpreter's lock.)
                if let Err(error) = signals.check() {
                    self.session().is_over = true;
                    return Err(error);
                }
                has_ended = self.session().accept(piece)?.unwrap_or(has_ended);
            }
            Ok(has_ended)
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

    /// Ends the sentence, and returns it as a Sentence: a dictionary with start, end, text and words (word, start, end, conf). Times are
    /// in seconds from the beginning of the sound.
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
            if let (1.., Some(value)) = (session.alternatives, value.as_object_mut())
                && let Value::Object(found) = json::alternatives(&transcript.alternatives)
            {
                value.extend(found);
            }
            Ok(value)
        })?;
        to_python(py, "sentence", &value)
    }
}

impl Session {
    /// The samples with the values of wave files.
    fn scaled(&mut self, samples: Samples) -> PyResult<Vec<f32>> {
        if self.is_over {
            self.scale = None;
        }
        samples.in_sound(&mut self.scale)
    }

    /// Takes the next samples. True if a sentence has ended, `None` if they do not complete a step.
    fn accept(&mut self, samples: &[f32]) -> PyResult<Option<bool>> {
        // After an error only another sound can be begun.
        if std::mem::replace(&mut self.is_over, true) {
            self.recognizer.reset(self.rate).map_err(of_model)?;
            self.steps = Steps::new(self.rate);
        }
        let mut has_ended = None;
        for step in self.steps.add(samples) {
            let state = self.recognizer.accept(&step).map_err(of_model)?;
            has_ended = Some(matches!(state, State::Endpoint { .. }));
        }
        self.is_over = false;
        Ok(has_ended)
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

/// A value of Python, made by a function of `nnet3._results`.
pub fn to_python<'py>(py: Python<'py>, function: &str, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    let plain = py.import("json")?.call_method1("loads", (value.to_string(),))?;
    py.import("nnet3._results")?.call_method1(function, (plain,))
}
