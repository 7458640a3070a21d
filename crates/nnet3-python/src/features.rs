//! Features of sound.

use std::path::{Path, PathBuf};

use kaldi_feat::spectral::{Extractor, SpectralOptions};
use kaldi_io::DenseMatrix;
use kaldi_io::filename::as_path;
use nnet3_online::config::spectral::{self, FbankArgs, MfccArgs, PlpArgs};
use numpy::PyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments;
use crate::arrays;
use crate::error::{not_found, raised};
use crate::names;
use crate::stack::detach;

fn options(kind: &str, config: &str) -> PyResult<SpectralOptions> {
    match kind {
        "mfcc" => spectral::read::<MfccArgs>(config, config).map_err(raised),
        "fbank" => spectral::read::<FbankArgs>(config, config).map_err(raised),
        "plp" => spectral::read::<PlpArgs>(config, config).map_err(raised),
        other => Err(PyValueError::new_err(format!("kind: expected mfcc, fbank or plp, found {other}"))),
    }
}

/// Features of sound, a float32 array of frames × dimension.
///
/// `samples` is an array of int16, or of float32 or float64: floats between -1 and 1 are multiplied by 32768; if one is 2 or more, or
/// -2 or less, or if all are -1, 0 or 1, they have the values of int16. It may be bytes with 16 bits a sample, too, the low byte first.
/// A sample that is NaN or infinite raises ValueError. `sample_rate` is in Hz; `rate=` is its older name. `config` is a file of options, one
/// `--name=value` a line, such as conf/mfcc.conf; without it features are of the given rate, and other options have their usual values, with dither. `kind` is mfcc,
/// fbank or plp.
#[pyfunction]
#[pyo3(signature = (samples, sample_rate = None, config = PathBuf::new(), kind = "mfcc", *, rate = None))]
#[pyo3(text_signature = "(samples, sample_rate, config='', kind='mfcc')")]
pub fn features<'py>(
    py: Python<'py>,
    samples: &Bound<'py, PyAny>,
    sample_rate: Option<&Bound<'py, PyAny>>,
    config: PathBuf,
    kind: &str,
    rate: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let rate = arguments::sample_rate(sample_rate, rate)? as f32;
    let samples = arrays::samples(samples, arrays::whole_samples)?.alone()?;
    let config = names::text(&config)?;
    if config != config.trim() {
        // (The options of programs, which read the file, lose such blanks.)
        return Err(PyValueError::new_err(format!(
            "config: expected the name of a file that neither begins nor ends with a blank, found {config:?}"
        )));
    }
    if !config.is_empty() && !Path::new(&config).exists() {
        let sentence = format!("config: there is no file {config:?}");
        return Err(PyErr::from_type(not_found(py)?.clone(), (sentence,)));
    }
    let mut options = as_path(|| options(kind, &config))?;
    if config.is_empty() {
        options.frames.sample_rate = rate;
    }
    let found = detach(py, || -> PyResult<DenseMatrix<f32>> {
        let mut extractor = Extractor::new(options).map_err(raised)?;
        let found = extractor.features(&samples, rate, 1.0).map_err(raised)?;
        Ok(match found.rows {
            0 => DenseMatrix { cols: extractor.dim(), ..found },
            _ => found,
        })
    })?;
    arrays::to_matrix(py, found)
}
