//! Sources of a [`KaldiReader`](crate::KaldiReader).

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use crate::error::{IoError, Result};
use crate::filename::RxFilename;
use crate::interruption::wait_for_input;
use crate::pipe::{PipeInput, enlarge};

pub(crate) enum Source {
    File(File, PathBuf),
    Pipe(PipeInput),
    Stdin(File),
    Other(Box<dyn Read + Send>),
}

impl Source {
    /// Opens a name; also returns the offset in the file at which reading starts.
    pub(crate) fn open(name: &RxFilename) -> io::Result<(Self, u64)> {
        Ok(match name {
            // A copy of the descriptor, so that no data stay in a buffer of the standard library.
            RxFilename::Stdin => {
                crate::standard::take_input()?;
                let stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
                enlarge(&stdin);
                (Source::Stdin(stdin), 0)
            }
            RxFilename::Pipe(command) => (Source::Pipe(PipeInput::open(command)?), 0),
            RxFilename::File(path) => (Source::File(File::open(path)?, path.clone()), 0),
            RxFilename::Offset(path, offset) => {
                let mut file = File::open(path)?;
                check_offset(&file, *offset)?;
                file.seek(SeekFrom::Start(*offset))?;
                (Source::File(file, path.clone()), *offset)
            }
        })
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Source::File(_, path) => Some(path),
            Source::Pipe(_) | Source::Stdin(_) | Source::Other(_) => None,
        }
    }

    /// The file that this reads from, if it is one.
    pub(crate) fn file(&self) -> Option<&File> {
        match self {
            Source::File(file, _) => Some(file),
            Source::Pipe(_) | Source::Stdin(_) | Source::Other(_) => None,
        }
    }

    pub(crate) fn is_pipe(&self) -> bool {
        matches!(self, Source::Pipe(_))
    }

    /// Returns the failure of a command after its output was read to the end.
    pub(crate) fn failure(&self) -> Option<IoError> {
        match self {
            Source::Pipe(pipe) => pipe.failure(),
            Source::File(..) | Source::Stdin(_) | Source::Other(_) => None,
        }
    }

    pub(crate) fn is_file(&self, path: &Path) -> bool {
        matches!(self, Source::File(_, own) if own == path)
    }

    pub(crate) fn seek(&mut self, offset: u64) -> io::Result<()> {
        match self {
            Source::File(file, _) => {
                check_offset(file, offset)?;
                file.seek(SeekFrom::Start(offset)).map(drop)
            }
            _ => Err(io::ErrorKind::NotSeekable.into()),
        }
    }

    pub(crate) fn close(&mut self) -> Result<()> {
        match self {
            Source::Pipe(pipe) => pipe.close(),
            Source::File(..) | Source::Stdin(_) | Source::Other(_) => Ok(()),
        }
    }
}

fn check_offset(file: &File, offset: u64) -> io::Result<()> {
    let data = file.metadata()?;
    if data.is_file() && offset > data.len() {
        let message = format!("the offset {offset} is beyond its end, at byte {}", data.len());
        return Err(io::Error::other(message));
    }
    Ok(())
}

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Source::File(file, _) => file.read(out),
            Source::Stdin(file) if wait_for_input(&*file) => file.read(out),
            Source::Stdin(_) => Ok(0),
            Source::Pipe(pipe) => pipe.read(out),
            Source::Other(other) => other.read(out),
        }
    }
}
