//! Forced alignment.

use std::path::PathBuf;
use std::sync::Arc;

use kaldi_aligner::interrupt::while_wanted;
use kaldi_aligner::{Unknown, outputs};
use kaldi_corpus::{Input, Options};
use kaldi_sound::Channels;
use nnet3_aligner::{Outcome, Request, align as align_corpus};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

use crate::arguments;
use crate::error::raised_with;
use crate::recognizer::to_python;
use crate::stack::detach;
use crate::told::Told;
use crate::wording;

/// A value of an argument, or ValueError with the argument's name.
fn parsed<T, E: std::fmt::Display>(name: &str, value: &str, parse: Result<T, E>) -> PyResult<T> {
    parse.map_err(|message| PyValueError::new_err(format!("{name}={value}: {message}")))
}

fn unknown(value: &str) -> Result<Unknown, &'static str> {
    match value {
        "spoken" => Ok(Unknown::Spoken),
        "letters" => Ok(Unknown::Letters),
        "g2p" => Ok(Unknown::G2p),
        "skip" => Ok(Unknown::Skip),
        _ => Err("expected spoken, letters, g2p or skip"),
    }
}

/// A sentence of the libraries in words of Python.
fn sentence(text: &str) -> String {
    wording::in_python(text, wording::ALIGN)
}

/// align(corpus, lexicon, ..., progress): a dictionary with recordings (as `nnet3-align --formats=json` writes them), textgrids (name and
/// text, in the long and in the short form), faults, unknown_words, left_out and warnings. `progress` is None, or a function that gets
/// the share that is done, from 0 to 1, and the name of the present part. `nnet3.align` makes an Alignment of it.
#[pyfunction]
#[pyo3(signature = (corpus, lexicon, model, adapt, save_model, unknown_words, text, speakers, text_extensions, tiers, channels, scores, threads, all_words, digraphs, progress))]
#[allow(clippy::too_many_arguments)] // (nnet3.align has their defaults.)
pub fn align<'py>(
    py: Python<'py>,
    corpus: PathBuf,
    lexicon: String,
    model: Option<PathBuf>,
    adapt: bool,
    save_model: Option<PathBuf>,
    unknown_words: &str,
    text: Option<PathBuf>,
    speakers: &str,
    text_extensions: Vec<String>,
    tiers: &str,
    channels: &str,
    scores: bool,
    threads: &Bound<'py, PyAny>,
    all_words: bool,
    digraphs: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let threads = arguments::threads(Some(threads))?;
    let told = Told::new(progress);
    let opened = told.clone();
    let request = Request {
        input: match text {
            Some(text) => Input::Listed { sound: corpus, text, speakers: None },
            None => Input::Path(corpus),
        },
        reading: Options {
            text_extensions,
            speakers: parsed("speakers", speakers, speakers.parse())?,
            tiers: parsed("tiers", tiers, tiers.parse())?,
            channels: parsed("channels", channels, Channels::one(channels))?,
            threads: threads.get(),
            progress: Some(Arc::new(move |done, all| opened.opened(done, all))),
            ..Options::default()
        },
        lexicon,
        model,
        adapt,
        save_model,
        unknown: parsed("unknown_words", unknown_words, unknown(unknown_words))?,
        with_scores: scores,
        all_words,
        digraphs,
        threads,
    };
    let asked = told.clone();
    let work = || {
        told.opened(0, 1);
        align_corpus(request, &mut |event| told.event(&event))
    };
    let of_align = |error| raised_with(error, |text| sentence(&text));
    let aligned = detach(py, || while_wanted(move || asked.is_wanted(), work).map_err(of_align));
    if let Some(error) = told.raised() {
        return Err(error);
    }
    let Outcome { corpus, results, missing, warnings } = aligned?;
    let mut warnings: Vec<String> = warnings.iter().map(|text| sentence(text)).collect();
    if corpus.own_speakers > 1 {
        warnings.push(format!(
            "each of {} recordings is taken for a speaker of its own; speakers=\"one\", \"folder\" and others say who speaks",
            corpus.own_speakers
        ));
    }
    let [long, short] = [false, true].map(|short| outputs::textgrids(&corpus, &results, short));
    let faults =
        corpus.faults.iter().map(|fault| json!({ "place": fault.place, "fault": sentence(&fault.sentence) }));
    let unknown =
        missing.iter().map(|word| json!({ "word": word.word, "count": word.count, "place": word.place }));
    let left_out = results.left_out.iter().map(|gap| {
        let recording = &corpus.recordings[gap.recording].id;
        json!({ "recording": recording, "begin": gap.begin, "end": gap.end, "words": gap.words })
    });
    let value = json!({
        "recordings": outputs::objects(&corpus, &results),
        "textgrids": long,
        "short_textgrids": short,
        "faults": faults.collect::<Vec<_>>(),
        "unknown_words": unknown.collect::<Vec<_>>(),
        "warnings": warnings,
        "left_out": left_out.collect::<Vec<_>>(),
    });
    to_python(py, "plain", &value)
}
