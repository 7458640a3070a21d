//! Names of tables: rspecifiers and wspecifiers, and names of archives and scripts, which begin with no `ark:`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use kaldi_io::table::{Rspecifier, Wspecifier};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::arguments::type_name;
use crate::error::not_found;
use crate::names;

/// The name of a table.
pub enum TableName {
    /// An rspecifier or a wspecifier.
    Specifier(String),
    /// A path behind `ark:` or `scp:`.
    Path(String),
}

/// Bytes of a file that tell an archive from a script.
const BEGINNING: u64 = 1 << 12;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Archive,
    Script,
}

impl Kind {
    /// The kind that the end of a name says.
    fn of_ending(path: &Path) -> Option<Kind> {
        match path.extension()?.to_str()? {
            "ark" => Some(Kind::Archive),
            "scp" => Some(Kind::Script),
            _ => None,
        }
    }

    /// The kind of a file that begins like this: entries of an archive have a key and `\0B` or `[`, lines of a script have a key and a name.
    fn of_contents(bytes: &[u8]) -> Option<Kind> {
        let end = bytes.iter().position(u8::is_ascii_whitespace)?;
        let key = str::from_utf8(&bytes[..end]).ok()?;
        if key.is_empty() || key.contains(char::is_control) || bytes[end] == b'\n' {
            return None;
        }
        let rest = &bytes[end + 1..];
        if rest.starts_with(b"\0B") || rest.trim_ascii_start().starts_with(b"[") {
            return Some(Kind::Archive);
        }
        let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let is_name = !line.trim_ascii().is_empty() && !line.contains(&0);
        is_name.then_some(Kind::Script)
    }

    fn specifier(self, path: &Path) -> PyResult<TableName> {
        let start = if self == Kind::Archive { "ark" } else { "scp" };
        Ok(TableName::Path(format!("{start}:{}", names::text(path)?)))
    }
}

/// A text that is no specifier, or a path; `None` of a text that is one.
fn path_of(
    what: &str,
    name: &Bound<'_, PyAny>,
    is_specifier: impl Fn(&str) -> bool,
) -> PyResult<Option<PathBuf>> {
    match name.cast::<PyString>() {
        Ok(text) if is_specifier(&text.to_cow()?) => Ok(None),
        _ => match name.extract::<PathBuf>() {
            Ok(path) if !path.as_os_str().is_empty() => Ok(Some(path)),
            Ok(_) => Err(PyValueError::new_err(format!(
                "{what}: expected the name of a table, found an empty one"
            ))),
            Err(error) if error.is_instance_of::<PyTypeError>(name.py()) => {
                Err(PyTypeError::new_err(format!(
                    "{what}: expected the name of a table, a str or os.PathLike object of str, found {}",
                    type_name(name)
                )))
            }
            Err(error) => Err(error),
        },
    }
}

/// The table that is read: an rspecifier, or the name of an archive or a script, which its contents tell apart, or else its ending.
pub fn to_read(name: &Bound<'_, PyAny>) -> PyResult<TableName> {
    let Some(path) = path_of("rspecifier", name, |text| Rspecifier::parse(text).is_ok())? else {
        return Ok(TableName::Specifier(name.extract()?));
    };
    let shown = path.display();
    let file = match path.metadata() {
        Ok(file) => file,
        Err(error) => {
            let error = kaldi_io::error::without_numbers(&error.to_string());
            let sentence = format!(
                "{shown}: {error} (expected the name of an archive or a script, or an rspecifier such as ark:{shown})"
            );
            return Err(PyErr::from_type(not_found(name.py())?.clone(), (sentence,)));
        }
    };
    let mut beginning = Vec::new();
    if file.is_file() {
        // (What cannot be read here cannot be read later, which has an error.)
        let _ = File::open(&path).and_then(|file| file.take(BEGINNING).read_to_end(&mut beginning));
    }
    match Kind::of_contents(&beginning).or_else(|| Kind::of_ending(&path)) {
        Some(kind) => kind.specifier(&path),
        None => {
            let found = if beginning.is_empty() { "an empty one, or no file" } else { "neither" };
            Err(PyValueError::new_err(format!(
                "{shown}: expected a file that is an archive or a script, found {found} (ark:{shown} or scp:{shown} says which)"
            )))
        }
    }
}

/// The table that is written: a wspecifier, or the name of an archive that ends with `.ark`.
pub fn to_write(name: &Bound<'_, PyAny>) -> PyResult<TableName> {
    let Some(path) = path_of("wspecifier", name, |text| Wspecifier::parse(text).is_ok())? else {
        return Ok(TableName::Specifier(name.extract()?));
    };
    match Kind::of_ending(&path) {
        Some(Kind::Archive) => Kind::Archive.specifier(&path),
        _ => {
            let shown = path.display();
            Err(PyValueError::new_err(format!(
                "{shown}: expected a wspecifier, such as ark:{shown} or ark,scp:{shown}.ark,{shown}.scp, or a name that ends with .ark"
            )))
        }
    }
}
