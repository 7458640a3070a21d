//! Names that callers give: paths, which are never taken for commands, and commands, which have an argument of their own.

use std::path::Path;

use kaldi_io::filename::as_path;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The source of data.
pub enum Source {
    /// A file.
    Path(String),
    /// `command |`.
    Command(String),
}

/// The text of a path. Raises ValueError if it is not UTF-8.
pub fn text(path: &Path) -> PyResult<String> {
    let text = path.to_str().ok_or_else(|| {
        PyValueError::new_err(format!("{}: expected a name that is UTF-8", path.to_string_lossy()))
    })?;
    Ok(text.to_owned())
}

impl Source {
    /// Takes the one of both that is given. Raises TypeError if it is not exactly one.
    pub fn new(what: &str, path: Option<&Path>, command: Option<&str>) -> PyResult<Source> {
        match (path, command) {
            (Some(path), None) => Ok(Source::Path(text(path)?)),
            (None, Some(command)) => {
                let command = command.trim_end();
                Ok(Source::Command(format!("{} |", command.strip_suffix('|').unwrap_or(command))))
            }
            _ => Err(PyTypeError::new_err(format!(
                "expected {what}, the name of a file, or command, and not both"
            ))),
        }
    }

    /// The name in messages and results.
    pub fn name(&self) -> &str {
        match self {
            Source::Path(name) | Source::Command(name) => name,
        }
    }

    /// Opens the source with a function that takes an extended file name.
    pub fn open<T>(&self, open: impl FnOnce(&str) -> T) -> T {
        match self {
            Source::Path(path) => as_path(|| open(path)),
            Source::Command(command) => open(command),
        }
    }
}
