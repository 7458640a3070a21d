//! The exception of the module.

use kaldi_io::IoError;
use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError};

pyo3::create_exception!(nnet3, Error, PyRuntimeError, "A failure, with the sentence that programs print.");

/// Makes an exception of an error and its causes: MemoryError if memory was missing, else Error.
pub fn raised(error: impl std::error::Error + 'static) -> PyErr {
    raised_with(error, |text| text)
}

/// Does the same as [`raised`], with a change of the sentence.
pub fn raised_with(error: impl std::error::Error + 'static, change: impl FnOnce(String) -> String) -> PyErr {
    let text = change(kaldi_io::error::chain(&error));
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        if let Some(IoError::Memory(_)) = error.downcast_ref() {
            return PyMemoryError::new_err(text);
        }
        cause = error.source();
    }
    Error::new_err(text)
}
