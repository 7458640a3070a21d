//! Tables without commands. An rspecifier or wspecifier, and each line of a script, may be a command by Kaldi's rule; programs that
//! get these from outside refuse them.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use kaldi_io::table::{Rspecifier, RspecifierKind, Wspecifier, WspecifierKind};
use kaldi_io::{IoError, KaldiReader};
use pyo3::PyErr;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{raised, raised_with};

/// A specifier of a table, as it is opened.
pub struct Specifier {
    text: String,
    copy: Option<Copy>,
}

/// A copy of a script, whose lines have been checked. The script itself may change between the check and its use.
struct Copy {
    folder: PathBuf,
    file: String,
    script: String,
}

impl Specifier {
    /// An rspecifier. Raises ValueError if commands are not allowed and it is one, or a line of its script is.
    pub fn to_read(text: &str, commands: bool) -> PyResult<Specifier> {
        if commands {
            return Ok(Specifier { text: text.to_owned(), copy: None });
        }
        let spec = Rspecifier::parse(text).map_err(raised)?;
        refuse(text, &spec.rxfilename)?;
        match spec.kind {
            RspecifierKind::Archive => Ok(Specifier { text: text.to_owned(), copy: None }),
            RspecifierKind::Script => Specifier::of_script(text, &spec.rxfilename),
        }
    }

    /// A wspecifier. Raises ValueError if commands are not allowed and it is one, or a line of its script is.
    pub fn to_write(text: &str, commands: bool) -> PyResult<Specifier> {
        if commands {
            return Ok(Specifier { text: text.to_owned(), copy: None });
        }
        match Wspecifier::parse(text).map_err(raised)?.kind {
            WspecifierKind::Archive { archive } => refuse(text, &archive)?,
            WspecifierKind::Both { archive, script } => {
                refuse(text, &archive)?;
                refuse(text, &script)?;
            }
            WspecifierKind::Script { script } => {
                refuse(text, &script)?;
                return Specifier::of_script(text, &script);
            }
        }
        Ok(Specifier { text: text.to_owned(), copy: None })
    }

    fn of_script(text: &str, script: &str) -> PyResult<Specifier> {
        let copy = Copy::new(script)?;
        let options = text.split_once(':').map_or(text, |(options, _)| options);
        Ok(Specifier { text: format!("{options}:{}", copy.file), copy: Some(copy) })
    }

    /// The text for kaldi-io.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The exception for an error of the table, with the name of the script and not of its copy.
    pub fn raised(&self, error: IoError) -> PyErr {
        match &self.copy {
            Some(copy) => raised_with(error, |text| text.replace(&copy.file, &copy.script)),
            None => raised(error),
        }
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
