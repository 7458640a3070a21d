//! Destinations of a [`KaldiWriter`](crate::KaldiWriter).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

use crate::error::{IoError, Result};
use crate::filename::WxFilename;
use crate::pipe::{PipeOutput, enlarge};
use crate::replacement::{TemporaryFile, replaceable};
use crate::standard;

/// Files that are standard output.
const STANDARD_OUTPUT: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

pub(crate) enum Sink {
    File(File),
    Standard(File),
    Temporary(TemporaryFile),
    Pipe(PipeOutput),
    Other(Box<dyn Write + Send>),
    /// Data stay in the writer's own buffer.
    Memory,
}

impl Sink {
    /// Opens a file for an object. A regular file, also one behind a symbolic link, is written under a temporary name;
    /// `replacement.rs` decides what becomes of a file that exists. Devices and named pipes are written in place, and so is a
    /// file in a folder that takes no new files.
    pub(crate) fn create(name: &WxFilename) -> io::Result<Self> {
        let WxFilename::File(path) = name else { return Self::create_in_place(name) };
        match replaceable(path).map(|target| TemporaryFile::create(&target)) {
            Some(Ok(file)) => Ok(Sink::Temporary(file)),
            Some(Err(_)) | None => Self::create_in_place(name),
        }
    }

    pub(crate) fn create_in_place(name: &WxFilename) -> io::Result<Self> {
        Ok(match name {
            // A copy of the descriptor: the standard library's `Stdout` would look for line ends in binary data.
            WxFilename::Stdout => {
                standard::check_output()?;
                #[allow(clippy::disallowed_methods)] // It is checked.
                let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
                enlarge(&stdout);
                Sink::Standard(stdout)
            }
            WxFilename::Pipe(command) => Sink::Pipe(PipeOutput::open(command)?),
            WxFilename::File(path) if STANDARD_OUTPUT.iter().any(|name| path.as_os_str() == *name) => {
                Sink::Standard(File::create(path)?)
            }
            WxFilename::File(path) => Sink::File(File::create(path)?),
        })
    }

    /// Returns the error with which [`create`](Self::create) would fail, without side effects.
    pub(crate) fn check(name: &WxFilename) -> io::Result<()> {
        match name {
            WxFilename::Stdout => standard::check_output(),
            WxFilename::Pipe(_) => Ok(()),
            WxFilename::File(path) => {
                let in_place = || OpenOptions::new().write(true).open(path).map(drop);
                match replaceable(path).map(|target| TemporaryFile::create(&target)) {
                    Some(Err(e)) if !path.exists() => Err(e),
                    Some(Ok(_)) => Ok(()),
                    // (To open a named pipe would wait for its reader.)
                    None if !path.is_dir() => Ok(()),
                    Some(Err(_)) | None => in_place(),
                }
            }
        }
    }

    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self, Sink::Temporary(_))
    }

    /// Gives a file that has a temporary name another one than its own at the end. Returns false for other sinks.
    pub(crate) fn name_differently(&mut self, name: &Path) -> bool {
        match self {
            Sink::Temporary(file) => {
                file.set_target(name);
                true
            }
            _ => false,
        }
    }

    /// Called after the last byte was flushed.
    pub(crate) fn finish(&mut self, name: &str) -> Result<()> {
        match self {
            Sink::Temporary(file) => {
                file.settle().map_err(|source| IoError::Io { name: name.to_owned(), source })
            }
            Sink::Pipe(pipe) => pipe.close(),
            Sink::File(_) | Sink::Standard(_) | Sink::Other(_) | Sink::Memory => Ok(()),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::File(file) => file.write(bytes),
            Sink::Standard(file) => file.write(bytes).map_err(standard::unread),
            Sink::Temporary(temporary) => temporary.file.write(bytes),
            Sink::Pipe(pipe) => pipe.write(bytes),
            Sink::Other(other) => other.write(bytes),
            Sink::Memory => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Other(other) => other.flush(),
            _ => Ok(()),
        }
    }
}
