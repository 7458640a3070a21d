//! Destinations of a [`KaldiWriter`](crate::KaldiWriter).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::error::{IoError, Result};
use crate::filename::WxFilename;
use crate::pipe::{PipeOutput, enlarge};
use crate::{standard, temporary};

pub(crate) enum Sink {
    File(File),
    Temporary(TemporaryFile),
    Pipe(PipeOutput),
    Other(Box<dyn Write + Send>),
    /// Data stay in the writer's own buffer.
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
    /// Opens a file for an object. A regular file, also one behind a symbolic link, is written under a temporary
    /// name. Devices and named pipes are written in place, and so is a file in a folder that takes no new files.
    pub(crate) fn create(name: &WxFilename) -> io::Result<Self> {
        let WxFilename::File(path) = name else { return Self::create_in_place(name) };
        match replaceable(path).map(|target| TemporaryFile::create(&target)) {
            Some(Ok(file)) => Ok(Sink::Temporary(file)),
            Some(Err(_)) | None => File::create(path).map(Sink::File),
        }
    }

    pub(crate) fn create_in_place(name: &WxFilename) -> io::Result<Self> {
        Ok(match name {
            // A copy of the descriptor: the standard library's `Stdout` would look for line ends in binary data.
            WxFilename::Stdout => {
                standard::check_output()?;
                let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
                enlarge(&stdout);
                Sink::File(stdout)
            }
            WxFilename::Pipe(command) => Sink::Pipe(PipeOutput::open(command)?),
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

/// Returns the regular file that `path` is or links to, or `path` itself if it does not exist.
fn replaceable(path: &Path) -> Option<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => Some(path.to_owned()),
        Ok(metadata) if metadata.is_symlink() => {
            fs::canonicalize(path).ok().filter(|target| target.is_file())
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Some(path.to_owned()),
        _ => None,
    }
}

/// Removes old temporary files beside `target` that killed programs have left for it.
fn remove_abandoned(target: &Path) {
    const A_WHILE: Duration = Duration::from_secs(600);
    let (Some(folder), Some(base)) = (target.parent(), target.file_name()) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let start = format!(".{}.", base.to_string_lossy());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let numbers = name.strip_prefix(&start).and_then(|rest| rest.strip_suffix(".tmp"));
        let is_ours = numbers.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
        let age = || entry.metadata().and_then(|m| m.modified()).ok().and_then(|time| time.elapsed().ok());
        if is_ours && age().is_some_and(|age| age > A_WHILE) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

impl TemporaryFile {
    fn create(target: &Path) -> io::Result<Self> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let base = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        remove_abandoned(target);
        let existing = fs::metadata(target).ok();
        if existing.as_ref().is_some_and(|m| m.permissions().readonly()) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut name = std::ffi::OsString::from(".");
        name.push(base);
        name.push(format!(".{}.{}.tmp", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)));
        let temporary = target.with_file_name(name);
        // The entry is added before the file exists, because a signal may arrive at any time.
        temporary::add(&temporary);
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary);
        let file = file.inspect_err(|_| temporary::forget(&temporary))?;
        if let Some(existing) = existing {
            // If possible, the new file keeps the permissions of the old one.
            let _ = file.set_permissions(existing.permissions());
        }
        Ok(TemporaryFile { file, temporary, target: target.to_owned(), renamed: false })
    }

    fn rename(&mut self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.target)?;
        self.renamed = true;
        temporary::forget(&self.temporary);
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::remove_file(&self.temporary);
            temporary::forget(&self.temporary);
        }
    }
}
