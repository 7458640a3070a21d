//! Names that callers give: paths, which are never taken for commands, and commands, which have an argument of their own.

use std::path::{Path, PathBuf};

use kaldi_io::filename::as_path;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arguments::type_name;

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

/// Returns the path of an argument. Raises TypeError for other objects, and ValueError if it is empty.
pub fn path(what: &str, object: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    let path = object.extract::<PathBuf>().map_err(|error| {
        match error.is_instance_of::<PyTypeError>(object.py()) {
            true => {
                let found = type_name(object);
                PyTypeError::new_err(format!(
                    "{what}: expected a name, a str or os.PathLike object of str, found {found}"
                ))
            }
            false => error,
        }
    })?;
    check_name(what, &path)?;
    Ok(path)
}

fn check_name(what: &str, path: &Path) -> PyResult<()> {
    match path.as_os_str().is_empty() {
        true => Err(PyValueError::new_err(format!("{what}: expected a name, found an empty one"))),
        false => Ok(()),
    }
}

impl Source {
    /// Takes the one of both that is given. Raises TypeError if it is not exactly one.
    pub fn new(what: &str, path: Option<&Path>, command: Option<&str>) -> PyResult<Source> {
        match (path, command) {
            (Some(path), None) => {
                check_name(what, path)?;
                Ok(Source::Path(text(path)?))
            }
            (None, Some(command)) => {
                let command = command.trim_end();
                if command.is_empty() {
                    return Err(PyValueError::new_err(
                        "command: expected a shell command, found an empty one",
                    ));
                }
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
