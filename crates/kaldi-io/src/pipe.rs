//! Commands at the other end of a file name: `command |` and `| command`, run by `/bin/sh -c` as `popen` does.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use crate::error::{IoError, Result};
use crate::log::Site;

const SITE: Site = Site::new("Close", "kaldi-io.cc", 1);

/// What a pipe should hold: more than the buffers of readers and writers, so that the two ends seldom wait for each other. A
/// Linux pipe holds 64 KiB unless told otherwise, and all pipes of a user together 64 MiB.
#[cfg(target_os = "linux")]
const CAPACITY: usize = 256 * 1024;

/// Enlarges a pipe that holds less. What is no pipe, or may not grow, stays as it is.
pub(crate) fn enlarge(pipe: impl AsFd) {
    #[cfg(target_os = "linux")]
    if rustix::pipe::fcntl_getpipe_size(&pipe).is_ok_and(|size| size < CAPACITY) {
        let _ = rustix::pipe::fcntl_setpipe_size(&pipe, CAPACITY);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = pipe;
}

fn shell(command: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command);
    shell
}

fn check(command: &str, status: ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { Err(IoError::Pipe { command: command.trim().to_owned(), status }) }
}

/// A command whose standard output is read. Dropping it waits for the command and warns if it failed.
pub(crate) struct PipeInput {
    command: String,
    child: Option<Child>,
    stdout: Option<ChildStdout>,
}

impl PipeInput {
    pub(crate) fn open(command: &str) -> io::Result<Self> {
        let mut child = shell(command).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take();
        stdout.iter().for_each(enlarge);
        Ok(PipeInput { command: command.to_owned(), child: Some(child), stdout })
    }

    /// Closes our end and waits; an error if the command's status is not zero.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.stdout = None;
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let status = child.wait().map_err(|source| IoError::Io { name: self.command.clone(), source })?;
        check(&self.command, status)
    }
}

impl Read for PipeInput {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.stdout.as_mut().map_or(Ok(0), |stdout| stdout.read(out))
    }
}

impl Drop for PipeInput {
    fn drop(&mut self) {
        if let Err(IoError::Pipe { status, .. }) = self.close() {
            crate::kaldi_warn!(
                SITE,
                "Pipe {}| had nonzero return status {}",
                self.command,
                status.into_raw()
            );
        }
    }
}

/// A command whose standard input is written.
pub(crate) struct PipeOutput {
    command: String,
    child: Option<Child>,
    stdin: Option<ChildStdin>,
}

impl PipeOutput {
    pub(crate) fn open(command: &str) -> io::Result<Self> {
        let mut child = shell(command).stdin(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        stdin.iter().for_each(enlarge);
        Ok(PipeOutput { command: command.to_owned(), child: Some(child), stdin })
    }

    /// Closes the command's input and waits for it to end; an error if its status is not zero.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.stdin = None;
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let status = child.wait().map_err(|source| IoError::Io { name: self.command.clone(), source })?;
        check(&self.command, status)
    }
}

impl Write for PipeOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.stdin {
            Some(stdin) => stdin.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PipeOutput {
    fn drop(&mut self) {
        if let Err(IoError::Pipe { status, .. }) = self.close() {
            crate::kaldi_warn!(
                SITE,
                "Pipe |{} had nonzero return status {}",
                self.command,
                status.into_raw()
            );
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn size(pipe: impl AsFd) -> usize {
        rustix::pipe::fcntl_getpipe_size(pipe).unwrap()
    }

    #[test]
    fn pipes_hold_more_than_a_buffer() {
        let mut input = PipeInput::open("echo read").unwrap();
        assert_eq!(input.stdout.as_ref().map(size), Some(CAPACITY));
        let mut text = String::new();
        input.read_to_string(&mut text).unwrap();
        assert_eq!(text, "read\n");
        let mut output = PipeOutput::open("cat >/dev/null").unwrap();
        assert_eq!(output.stdin.as_ref().map(size), Some(CAPACITY));
        output.close().unwrap();
    }

    #[test]
    fn larger_pipes_and_files_stay_as_they_are() {
        let (end, _other) = io::pipe().unwrap();
        rustix::pipe::fcntl_setpipe_size(&end, 2 * CAPACITY).unwrap();
        enlarge(&end);
        assert_eq!(size(&end), 2 * CAPACITY);
        enlarge(std::fs::File::open("/dev/null").unwrap());
    }
}
