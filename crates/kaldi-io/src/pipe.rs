//! Commands at the other end of a file name: `command |` and `| command`, run by `/bin/sh -c` as `popen` does.

use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use crate::error::{IoError, Result};
use crate::log::Site;

const SITE: Site = Site::new("Close", "kaldi-io.cc", 1);

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
