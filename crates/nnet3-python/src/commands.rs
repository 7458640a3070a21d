//! Tables without commands. An rspecifier or wspecifier, and each line of a script, may be a command by Kaldi's rule; programs that
//! get these from outside refuse them.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kaldi_io::filename::{RxFilename, as_path};
use kaldi_io::table::{Rspecifier, RspecifierKind, Wspecifier, WspecifierKind};
use kaldi_io::{IoError, KaldiReader};
use pyo3::PyErr;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{raised, raised_with};
use crate::tables::TableName;

/// A specifier of a table, as it is opened.
pub struct Specifier {
    text: String,
    /// True if the archive or script has this name, whatever characters are in it.
    is_path: bool,
    /// `None` once the table is closed, too.
    copy: Mutex<Option<Copy>>,
    /// The name as the caller gave it.
    given: String,
}

/// A copy of a script, whose lines have been checked. The script itself may change between the check and its use.
struct Copy {
    folder: PathBuf,
    file: String,
    script: String,
}

impl Specifier {
    fn new(name: TableName) -> Specifier {
        match name {
            TableName::Specifier(text) => {
                Specifier { given: text.clone(), text, is_path: false, copy: Mutex::new(None) }
            }
            TableName::Path(text) => {
                let given = text.split_once(':').map_or(&*text, |(_, path)| path).to_owned();
                Specifier { given, text, is_path: true, copy: Mutex::new(None) }
            }
        }
    }

    /// An rspecifier. Raises ValueError if commands are not allowed and it is one, or a line of its script is.
    pub fn to_read(name: TableName, commands: bool) -> PyResult<Specifier> {
        let mut specifier = Specifier::new(name);
        if commands {
            return Ok(specifier);
        }
        let spec = Rspecifier::parse(&specifier.text).map_err(raised)?;
        specifier.refuse(&spec.rxfilename)?;
        if spec.kind == RspecifierKind::Script {
            specifier.copy_script(&spec.rxfilename)?;
        }
        Ok(specifier)
    }

    /// A wspecifier. Raises ValueError if commands are not allowed and it is one, or a line of its script is.
    pub fn to_write(name: TableName, commands: bool) -> PyResult<Specifier> {
        let mut specifier = Specifier::new(name);
        if commands {
            return Ok(specifier);
        }
        match Wspecifier::parse(&specifier.text).map_err(raised)?.kind {
            WspecifierKind::Archive { archive } => specifier.refuse(&archive)?,
            WspecifierKind::Both { archive, script } => {
                specifier.refuse(&archive)?;
                specifier.refuse(&script)?;
            }
            WspecifierKind::Script { script } => {
                specifier.refuse(&script)?;
                specifier.copy_script(&script)?;
            }
        }
        Ok(specifier)
    }

    /// Raises ValueError if a name may be a command.
    fn refuse(&self, name: &str) -> PyResult<()> {
        if self.is_path { Ok(()) } else { refuse(&self.text, name) }
    }

    /// Checks the lines of a script, and lets a copy take its place.
    fn copy_script(&mut self, script: &str) -> PyResult<()> {
        let copy = match self.is_path {
            true => as_path(|| Copy::new(script)),
            false => Copy::new(script),
        }?;
        let options = self.text.split_once(':').map_or(&*self.text, |(options, _)| options);
        self.text = format!("{options}:{}", copy.file);
        self.copy = Mutex::new(Some(copy));
        Ok(())
    }

    /// Opens the table with a function that takes a specifier. Raises what the module raises for its errors.
    pub fn open<T>(&self, open: impl FnOnce(&str) -> kaldi_io::error::Result<T>) -> PyResult<T> {
        let opened = if self.is_path { as_path(|| open(&self.text)) } else { open(&self.text) };
        opened.map_err(|error| self.raised(error))
    }

    /// The name as the caller gave it.
    pub fn given(&self) -> &str {
        &self.given
    }

    /// True if entries can be looked up: the table to read is a file, which can be opened again.
    pub fn is_file(&self) -> bool {
        let name = Rspecifier::parse(&self.text).map(|spec| spec.rxfilename);
        let is_file =
            |name: &str| matches!(RxFilename::parse(name), Ok(RxFilename::File(file)) if file.is_file());
        self.is_path || name.is_ok_and(|name| is_file(&name))
    }

    /// Removes what is not needed behind the last error of the table.
    pub fn release(&self) {
        drop(self.copy().take());
    }

    fn copy(&self) -> MutexGuard<'_, Option<Copy>> {
        self.copy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The exception for an error of the table, with the name of the script and not of its copy.
    pub fn raised(&self, error: IoError) -> PyErr {
        raised_with(error, |text| match &*self.copy() {
            Some(copy) => text.replace(&copy.file, &copy.script),
            None => text,
        })
    }
}

impl Copy {
    fn new(script: &str) -> PyResult<Copy> {
        let mut reader = KaldiReader::open_raw(script).map_err(raised)?;
        let name = reader.name().to_owned();
        let failed =
            |error: io::Error| raised(IoError::Open { name: format!("a copy of {name}"), source: error });
        let folder = private_folder().map_err(failed)?;
        let path = folder.join("script");
        let copy = Copy { folder, file: path.to_string_lossy().into_owned(), script: name.clone() };
        let mut file = io::BufWriter::new(File::create_new(&path).map_err(failed)?);
        while let Some(line) = reader.read_line().map_err(raised)? {
            // (The blanks of tables are those of C.)
            let is_blank = |c: char| c.is_ascii_whitespace() || c == '\x0b';
            let (key, rest) = line.trim_start_matches(is_blank).split_once(is_blank).unwrap_or((&line, ""));
            refuse(&format!("{name}, key '{key}'"), rest)?;
            writeln!(file, "{line}").map_err(failed)?;
        }
        file.flush().map_err(failed)?;
        reader.close().map_err(raised)?;
        Ok(copy)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Makes a folder that other users cannot enter.
fn private_folder() -> io::Result<PathBuf> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("nnet3-script-{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|()| folder),
        }
    }
}

/// Raises ValueError if a name has the form of a command, with or without a range behind it. (A file of this name may be there now, and
/// gone when the name is opened.)
fn refuse(place: &str, name: &str) -> PyResult<()> {
    let name = name.trim();
    let file = if name.ends_with(']') { name.split('[').next().unwrap_or_default().trim() } else { name };
    if [name, file].iter().any(|text| text.starts_with('|') || text.ends_with('|')) {
        return Err(PyValueError::new_err(format!(
            "{place}: '{name}' is a command, and commands=False allows none"
        )));
    }
    Ok(())
}
