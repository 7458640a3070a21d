//! Whole recordings: a file, a command, bytes, a file object or an array.

use std::path::PathBuf;

use kaldi_io::KaldiReader;
use kaldi_sound::{Channels, RawForm, SoundOptions, SoundStream};
use nnet3_online::formats::{self, Parts, Segment, sort_by_time};
use nnet3_online::phrases::{Ignored, Phrases};
use nnet3_online::{Model, RecognizerOptions, Recording, RecordingOptions, Sentences};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::arguments::{self, type_name};
use crate::arrays::{self, Buffer};
use crate::error::{Error, raised};
use crate::names::Source;
use crate::recognizer::{model_of, of_model, to_python};
use crate::stack::detach;

/// The name of a recording that has no other.
const UNNAMED: &str = "recording";

/// The place of the sound.
enum Sound {
    Named(Source),
    /// The bytes of a file of any format, or of samples, with a name for messages.
    Bytes {
        name: String,
        bytes: Vec<u8>,
        raw: Option<RawForm>,
    },
}

/// The sentences of a recording, a Recording: a dictionary with file, text and segments as `nnet3-transcribe --format=json` prints it.
///
/// `recording` is one of these:
/// the name of a file of any format that nnet3-transcribe reads (a name is never taken for a command);
/// a file object, or bytes, of such a file;
/// an array of samples with `sample_rate` in Hz, or an array of samples × channels: int16, or float32 and float64 between -1 and 1 or
/// with the values of int16, as features() takes them;
/// bytes, or another buffer, of int16 samples, the low byte first, with `sample_rate`.
/// `command` takes its place: a shell command that writes sound to its standard output.
///
/// `channels` is first, mix, each, or a number from 1. With "each", segments of all channels are in the order of their beginnings, and
/// those that begin at the same time in the order of channels. `phrases` is a list of texts that take the place of the model's language
/// model. With `alternatives`, 1000 at most, segments have that many texts. If parts of the recording are missing or damaged, its rate is
/// lower than the model's, the chosen channel alone is silent, a word of the phrases is unknown, or a sentence has no exact text, the
/// dictionary has a list `warnings`, and each one is a UserWarning, too. A recording without samples, or with too few for a frame, raises Error.
#[pyfunction]
#[pyo3(signature = (
    model, recording = None, *, command = None, sample_rate = None, channels = None, phrases = None, alternatives = None,
    rate = None
))]
#[pyo3(
    text_signature = "(model, recording=None, *, command=None, sample_rate=None, channels='first', phrases=None, alternatives=0)"
)]
#[allow(clippy::too_many_arguments)] // They are keywords.
pub fn transcribe<'py>(
    py: Python<'py>,
    model: &Bound<'py, PyAny>,
    recording: Option<&Bound<'py, PyAny>>,
    command: Option<&str>,
    sample_rate: Option<&Bound<'py, PyAny>>,
    channels: Option<&Bound<'py, PyAny>>,
    phrases: Option<&Bound<'py, PyAny>>,
    alternatives: Option<&Bound<'py, PyAny>>,
    rate: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let model = &model_of(model)?.get().model;
    let channels = channels.map_or(Ok(Channels::First), which)?;
    let phrases = arguments::texts("phrases", phrases)?;
    let alternatives = arguments::alternatives(alternatives)?;
    let rate = match (sample_rate, rate) {
        (None, None) => None,
        _ => Some(whole_rate(arguments::recognised_rate(sample_rate, rate)?)?),
    };
    let mut sound = Sound::of(recording, command, rate)?;
    let parts =
        Parts { channels: channels == Channels::Each, alternatives: alternatives > 0, ..Parts::default() };
    let heard = detach(py, || hear(model, &mut sound, channels, phrases, alternatives))?;
    let mut recording = formats::recording(parts, sound.name(), &heard.segments);
    if !heard.warnings.is_empty() {
        for warning in &heard.warnings {
            arrays::warn(py, &format!("{}: {warning}", sound.name()))?;
        }
        recording["warnings"] = heard.warnings.into();
    }
    to_python(py, "recording", &recording)
}

/// Returns a rate of samples that are whole Hz. Raises ValueError for other ones.
fn whole_rate(rate: f64) -> PyResult<f64> {
    match rate.fract() == 0.0 {
        true => Ok(rate),
        false => {
            Err(PyValueError::new_err(format!("sample_rate: expected a whole number of Hz, found {rate}")))
        }
    }
}

/// The channels of a word or a number.
fn which(channels: &Bound<'_, PyAny>) -> PyResult<Channels> {
    let text = channels.str()?.to_string();
    text.parse().map_err(|reason| PyValueError::new_err(format!("channels={text}: {reason}")))
}

impl Sound {
    fn of(recording: Option<&Bound<'_, PyAny>>, command: Option<&str>, rate: Option<f64>) -> PyResult<Sound> {
        let raw = |channels: usize| -> PyResult<Option<RawForm>> {
            let form = |rate: f64| format!("s16le,{rate},{channels}").parse::<RawForm>();
            let form = rate.map(form).transpose();
            form.map_err(|reason| PyValueError::new_err(format!("sample_rate and channels: {reason}")))
        };
        let Some(recording) = recording.filter(|_| command.is_none()) else {
            if recording.is_none() && rate.is_none() {
                return Ok(Sound::Named(Source::new("recording", None, command)?));
            }
            return Err(PyTypeError::new_err(
                "expected recording, or command, and not both; sample_rate is for samples and not for command",
            ));
        };
        if let Ok(path) = recording.extract::<PathBuf>() {
            if rate.is_some() {
                return Err(PyTypeError::new_err(
                    "sample_rate is for samples: a file has its rate (nnet3.run(\"nnet3-transcribe\", \"--raw=…\", …) reads one without)",
                ));
            }
            return Ok(Sound::Named(Source::new("recording", Some(&path), None)?));
        }
        let mut recording = recording.clone();
        match arrays::buffer(&recording)? {
            Some(Buffer::Bytes(bytes)) => {
                return Ok(Sound::Bytes { name: UNNAMED.to_owned(), bytes, raw: raw(1)? });
            }
            Some(Buffer::Array(array)) => recording = array,
            None => {}
        }
        if recording.hasattr("read")? {
            let name = recording.getattr("name").and_then(|name| name.extract::<String>());
            let read = recording.call_method0("read")?;
            let Some(Buffer::Bytes(bytes)) = arrays::buffer(&read)? else {
                return Err(PyTypeError::new_err(match read.is_instance_of::<PyString>() {
                    true => {
                        "recording: expected a file that is open for bytes (mode 'rb'), found one of text"
                            .to_owned()
                    }
                    false => format!(
                        "recording: expected bytes of the object's read(), found {}",
                        type_name(&read)
                    ),
                }));
            };
            let name = name.unwrap_or_else(|_| UNNAMED.to_owned());
            if bytes.is_empty() {
                return Err(Error::new_err(format!(
                    "{name}: the file has no bytes from its position on (seek(0) returns to its beginning)"
                )));
            }
            return Ok(Sound::Bytes { name, bytes, raw: raw(1)? });
        }
        let (samples, channels) = arrays::sound(&recording)?;
        if rate.is_none() {
            return Err(PyTypeError::new_err(
                "sample_rate: expected the rate of the array's samples in Hz, found none",
            ));
        }
        let bytes = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        Ok(Sound::Bytes { name: UNNAMED.to_owned(), bytes, raw: raw(channels)? })
    }

    fn name(&self) -> &str {
        match self {
            Sound::Named(source) => source.name(),
            Sound::Bytes { name, .. } => name,
        }
    }

    /// Opens the sound, once: bytes are then in the stream alone.
    fn open(&mut self) -> PyResult<SoundStream> {
        match self {
            Sound::Named(source) => source.open(SoundStream::open).map_err(|error| source.raised(error)),
            Sound::Bytes { name, bytes, raw } => {
                let reader = KaldiReader::from_bytes(name.as_str(), std::mem::take(bytes));
                let options = SoundOptions { track: None, raw: *raw };
                SoundStream::from_reader_with(reader, &options).map_err(raised)
            }
        }
    }
}

/// The sentences of a recording, and its warnings.
struct Heard {
    segments: Vec<Segment>,
    warnings: Vec<String>,
}

/// Sentences about words of phrases that have no effect.
pub fn ignored_words(phrases: &Phrases) -> Vec<String> {
    let sentence = |word: &Ignored| {
        let place = if word.is_pathless { "graph" } else { "vocabulary" };
        format!(
            "phrases: the word '{}' is not in the {place} of the model: its phrase goes on without it",
            word.word
        )
    };
    phrases.ignored().iter().map(sentence).collect()
}

fn hear(
    model: &Model,
    sound: &mut Sound,
    channels: Channels,
    phrases: Option<Vec<String>>,
    alternatives: usize,
) -> PyResult<Heard> {
    let phrases = phrases.map(|phrases| model.phrases(&phrases)).transpose().map_err(raised)?;
    let mut warnings = phrases.as_ref().map(ignored_words).unwrap_or_default();
    let options = RecognizerOptions { phrases, alternatives, ..model.options().clone() };
    let sentences = Sentences::new(model, &options).map_err(raised)?;
    let stream = sound.open()?;
    let options = RecordingOptions { channels: Some(channels) };
    let mut recording =
        Recording::new(stream, sentences, &options).map_err(|error| of_recording(sound, error))?;
    let mut segments = Vec::new();
    while let Some(sentences) = recording.advance().map_err(|error| of_recording(sound, error))? {
        // (Ctrl-C, for a main thread that waits for a long recording.)
        Python::attach(|py| py.check_signals())?;
        for sentence in sentences {
            warnings.extend(sentence.transcript.warnings.iter().map(ToString::to_string));
            segments.push(sentence.into_segment(0.0).0);
        }
    }
    warnings.extend(recording.warnings().iter().map(ToString::to_string));
    sort_by_time(&mut segments);
    Ok(Heard { segments, warnings })
}

/// The exception for an error of a recording, with its name. (Errors of the sound have it.)
fn of_recording(sound: &Sound, error: nnet3_online::Error) -> PyErr {
    match error {
        nnet3_online::Error::Recording(_) => raised(error),
        _ => of_model(nnet3_online::Error::File { file: sound.name().to_owned(), source: error.into() }),
    }
}
