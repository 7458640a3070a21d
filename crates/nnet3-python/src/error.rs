//! The exceptions of the module.

use kaldi_io::IoError;
use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

pyo3::create_exception!(
    nnet3,
    Error,
    PyRuntimeError,
    "The base of the module's exceptions: a failure, with the sentence that programs print."
);

/// The exception NotFoundError: an Error, and a FileNotFoundError of Python.
pub fn not_found(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let make = || -> PyResult<Py<PyType>> {
        let bases = (py.get_type::<Error>(), py.get_type::<PyFileNotFoundError>());
        let contents = PyDict::new(py);
        contents.set_item("__module__", "nnet3")?;
        contents.set_item(
            "__doc__",
            "A file, a folder or a program is not there. It is a FileNotFoundError of Python, too.",
        )?;
        let made = py.get_type::<PyType>().call1(("NotFoundError", bases, contents))?;
        Ok(made.cast_into::<PyType>()?.unbind())
    };
    let made = TYPE.get_or_try_init(py, make)?;
    Ok(made.bind(py))
}

/// Makes an exception of an error and its causes: MemoryError if memory was missing, NotFoundError if a file was, else Error.
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
        if is_not_found(error) {
            return Python::attach(|py| match not_found(py) {
                Ok(kind) => PyErr::from_type(kind.clone(), (text,)),
                Err(error) => error,
            });
        }
        cause = error.source();
    }
    Error::new_err(text)
}

fn is_not_found(error: &(dyn std::error::Error + 'static)) -> bool {
    let is_io = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
    error.downcast_ref().is_some_and(is_io)
        || matches!(error.downcast_ref(), Some(nnet3_online::Error::NoFolder(_)))
}
