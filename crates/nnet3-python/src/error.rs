//! The exception of the module.

use pyo3::PyErr;
use pyo3::exceptions::PyRuntimeError;

pyo3::create_exception!(nnet3, Error, PyRuntimeError, "A failure, with the sentence that programs print.");

/// Makes an exception of an error and its causes.
pub fn raised(error: impl std::error::Error) -> PyErr {
    Error::new_err(kaldi_io::error::chain(&error))
}
