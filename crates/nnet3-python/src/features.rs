//! Features of sound.

use std::path::PathBuf;

use kaldi_feat::spectral::{Extractor, SpectralOptions};
use kaldi_io::DenseMatrix;
use kaldi_io::filename::as_path;
use nnet3_online::config::spectral::{self, FbankArgs, MfccArgs, PlpArgs};
use numpy::PyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays;
use crate::error::raised;
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

/// features(samples, rate, config="", kind="mfcc"): features of sound, a float32 array of frames × dimension.
///
/// `samples` have the values of wave files (-32768 to 32767); `rate` is in Hz. `config` is a file of options, one
/// `--name=value` a line, such as conf/mfcc.conf; without it options have their usual values, with dither. `kind` is mfcc,
/// fbank or plp.
#[pyfunction]
#[pyo3(signature = (samples, rate, config = PathBuf::new(), kind = "mfcc"))]
#[pyo3(text_signature = "(samples, rate, config='', kind='mfcc')")]
pub fn features<'py>(
    py: Python<'py>,
    samples: &Bound<'py, PyAny>,
    rate: f32,
    config: PathBuf,
    kind: &str,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let samples = arrays::samples(samples, arrays::whole_samples)?;
    let config = names::text(&config)?;
    if config != config.trim() {
        // (The options of programs, which read the file, lose such blanks.)
        return Err(PyValueError::new_err(format!(
            "config: expected the name of a file that neither begins nor ends with a blank, found {config:?}"
        )));
    }
    let options = as_path(|| options(kind, &config))?;
    let found = detach(py, || -> PyResult<DenseMatrix<f32>> {
        Extractor::new(options)
            .and_then(|mut extractor| extractor.features(&samples, rate, 1.0))
            .map_err(raised)
    })?;
    arrays::to_matrix(py, found)
}
