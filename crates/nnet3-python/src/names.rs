//! Names that callers give: paths, which are never taken for commands, and commands, which have an argument of their own.

use std::path::{Path, PathBuf};

use kaldi_io::filename::as_path;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arguments::type_name;
use crate::error::raised_with;

/// The source of data.
pub enum Source {
    /// A file.
    Path(String),
    /// `command |`.
    Command(String),
}

/// A remark about names with blanks.
const BAR: &str = " (a command needs | at its end)";

/// A clause about the name of a missing file; empty if there is nothing to say.
fn hint(name: &str) -> &'static str {
    let name = name.trim();
    if name.ends_with('|') {
        return "; a name is never a command here: command=\"…\", without the bar, runs one";
    }
    match ["http://", "https://"].iter().any(|start| name.starts_with(start)) {
        true => "; only files have names here: command=\"curl -sL 'URL'\" reads an address",
        false => "",
    }
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

    /// The exception for an error of reading the source. One about a missing file says what reads sound or models that are no files.
    pub fn raised(&self, error: impl std::error::Error + 'static) -> PyErr {
        raised_with(error, |text| match self {
            // (The remark is for programs, whose names may be commands.)
            Source::Path(name) if !Path::new(name).exists() => text.replace(BAR, "") + hint(name),
            _ => text,
        })
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
