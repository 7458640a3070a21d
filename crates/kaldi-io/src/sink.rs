//! What a [`KaldiWriter`](crate::KaldiWriter) writes to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{IoError, Result};
use crate::filename::WxFilename;
use crate::pipe::PipeOutput;

pub(crate) enum Sink {
    File(File),
    Temporary(TemporaryFile),
    Pipe(PipeOutput),
    Other(Box<dyn Write + Send>),
    /// The writer's own buffer is everything.
    Memory,
}

/// A file that has not got its real name yet; removed when dropped before that.
pub(crate) struct TemporaryFile {
    file: File,
    temporary: PathBuf,
    target: PathBuf,
    renamed: bool,
}

impl Sink {
    /// For objects: regular files under a temporary name. Symbolic links, devices and named pipes are written in
    /// place, and so is a file in a folder that takes no new files.
    pub(crate) fn create(name: &WxFilename) -> io::Result<Self> {
        match name {
            WxFilename::File(path) if may_replace(path) => match TemporaryFile::create(path) {
                Ok(file) => Ok(Sink::Temporary(file)),
                Err(_) => File::create(path).map(Sink::File),
            },
            other => Self::create_in_place(other),
        }
    }

    pub(crate) fn create_in_place(name: &WxFilename) -> io::Result<Self> {
        Ok(match name {
            // A copy of the descriptor: the standard library's `Stdout` would look for line ends in binary data.
            WxFilename::Stdout => Sink::File(File::from(io::stdout().as_fd().try_clone_to_owned()?)),
            WxFilename::Pipe(command) => Sink::Pipe(PipeOutput::open(command)?),
            WxFilename::File(path) => Sink::File(File::create(path)?),
        })
    }

    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self, Sink::Temporary(_))
    }

    /// Called after the last byte was flushed.
    pub(crate) fn finish(&mut self, name: &str) -> Result<()> {
        match self {
            Sink::Temporary(file) => {
                file.rename().map_err(|source| IoError::Io { name: name.to_owned(), source })
            }
            Sink::Pipe(pipe) => pipe.close(),
            Sink::File(_) | Sink::Other(_) | Sink::Memory => Ok(()),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::File(file) => file.write(bytes),
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

/// Whether `path` is a regular file or nothing at all.
fn may_replace(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.is_file(),
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    }
}

impl TemporaryFile {
    fn create(target: &Path) -> io::Result<Self> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let base = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let existing = fs::metadata(target).ok();
        if existing.as_ref().is_some_and(|m| m.permissions().readonly()) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut name = std::ffi::OsString::from(".");
        name.push(base);
        name.push(format!(".{}.{}.tmp", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)));
        let temporary = target.with_file_name(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        if let Some(existing) = existing {
            // Best effort: the new file keeps the permissions of the one it replaces.
            let _ = file.set_permissions(existing.permissions());
        }
        Ok(TemporaryFile { file, temporary, target: target.to_owned(), renamed: false })
    }

    fn rename(&mut self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.target)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}
