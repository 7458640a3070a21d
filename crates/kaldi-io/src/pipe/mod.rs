//! Commands at the other end of a file name: `command |` and `| command`.
//!
//! `pipe/processes.rs` starts and watches their processes.

mod processes;

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{ChildStdin, ChildStdout, Stdio};

use crate::error::{IoError, Result};
use crate::interruption::{self, wait_for_input};
use crate::log::Site;
use processes::Processes;

const SITE: Site = Site::new("Close", "kaldi-io.cc", 1);

/// Capacity requested for pipes: more than the buffers of readers and writers, so that the two ends seldom wait for
/// each other. By default a Linux pipe holds 64 KiB; all pipes of a user together may hold 64 MiB.
#[cfg(target_os = "linux")]
const CAPACITY: usize = 256 * 1024;

/// Enlarges a smaller pipe. Other files, and pipes that may not grow, stay unchanged.
pub(crate) fn enlarge(pipe: impl AsFd) {
    #[cfg(target_os = "linux")]
    if rustix::pipe::fcntl_getpipe_size(&pipe).is_ok_and(|size| size < CAPACITY) {
        let _ = rustix::pipe::fcntl_setpipe_size(&pipe, CAPACITY);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = pipe;
}

/// A command with a piped standard output. Dropping it waits for the command and warns if it failed.
pub(crate) struct PipeInput {
    command: String,
    processes: Option<Processes>,
    stdout: Option<ChildStdout>,
    /// The failure of the command, if it failed before or at the end of its output, which has been seen.
    failure: Option<IoError>,
    /// The failure was returned as an error.
    told: Cell<bool>,
}

impl PipeInput {
    pub(crate) fn open(command: &str) -> io::Result<Self> {
        let (processes, ends) = Processes::start(command, Stdio::inherit(), Stdio::piped())?;
        Ok(PipeInput {
            command: command.to_owned(),
            processes: Some(processes),
            stdout: ends.stdout,
            failure: None,
            told: Cell::new(false),
        })
    }

    /// Closes our end and waits; an error if a part of the command failed. A part that was stopped because we, or a later
    /// part, had read enough did not. After a [signal](interruption) the command is ended instead.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.stdout = None;
        if interruption::received().is_some() {
            self.stop();
        }
        if let Some(processes) = self.processes.take() {
            return processes.wait(false);
        }
        self.failure().map_or(Ok(()), Err)
    }

    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// Returns the failure of a command after its output was read to the end.
    pub(crate) fn failure(&self) -> Option<IoError> {
        let failure = self.failure.as_ref()?;
        self.told.set(true);
        failure.copy_of_failure()
    }

    /// Ends a command whose further output nobody wants.
    fn stop(&mut self) {
        self.stdout = None;
        if let Some(processes) = self.processes.take() {
            processes.stop();
        }
    }

    /// Waits for a command that has ended its output.
    fn end(&mut self) -> io::Result<()> {
        self.stdout = None;
        match self.processes.take().map_or(Ok(()), |processes| processes.wait(true)) {
            Err(IoError::Io { source, .. }) => Err(source),
            Err(failure) => {
                self.failure = Some(failure);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

impl Read for PipeInput {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some(stdout) = &mut self.stdout else { return Ok(0) };
        if !wait_for_input(&*stdout) {
            self.stop();
            return Ok(0);
        }
        let got = stdout.read(out)?;
        if got == 0 && !out.is_empty() {
            self.end()?;
        }
        Ok(got)
    }
}

impl Drop for PipeInput {
    fn drop(&mut self) {
        if self.told.get() {
            return;
        }
        if let Err(e) = self.close() {
            crate::log::kaldi_warn!(SITE, "{}", e.chain());
        }
    }
}

/// A command with a piped standard input.
pub(crate) struct PipeOutput {
    processes: Option<Processes>,
    stdin: Option<ChildStdin>,
}

impl PipeOutput {
    /// Starts the command. It has the default action for SIGPIPE, which this process ignores.
    pub(crate) fn open(command: &str) -> io::Result<Self> {
        let (processes, ends) = Processes::start(command, Stdio::piped(), Stdio::inherit())?;
        Ok(PipeOutput { processes: Some(processes), stdin: ends.stdin })
    }

    /// Closes the command's input and waits for it to end; an error if a part of it failed.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.stdin = None;
        self.processes.take().map_or(Ok(()), |processes| processes.wait(true))
    }

    /// Returns the reason why the command stopped reading.
    fn broken(&mut self) -> io::Error {
        let command = self.processes.as_ref().map_or_else(String::new, |p| p.command().to_owned());
        match self.close() {
            Err(e) => io::Error::other(e),
            Ok(()) => {
                let message = format!("'{command}' ended without an error before it had read everything");
                io::Error::new(io::ErrorKind::BrokenPipe, message)
            }
        }
    }
}

impl Write for PipeOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.stdin.as_mut().map_or(Err(io::ErrorKind::BrokenPipe.into()), |to| to.write(bytes));
        written.map_err(|e| if e.kind() == io::ErrorKind::BrokenPipe { self.broken() } else { e })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PipeOutput {
    fn drop(&mut self) {
        if let Err(e) = self.close() {
            crate::log::kaldi_warn!(SITE, "{}", e.chain());
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn size(pipe: impl AsFd) -> usize {
        rustix::pipe::fcntl_getpipe_size(pipe).unwrap()
    }

    /// Reads a command's output to the end and returns the message of its failure.
    fn failure(command: &str) -> Option<String> {
        let mut input = PipeInput::open(command).unwrap();
        io::copy(&mut input, &mut io::sink()).unwrap();
        input.close().err().map(|e| e.to_string())
    }

    #[test]
    fn every_part_counts() {
        for (command, expected) in [
            ("false", "command 'false' failed: exit status: 1"),
            (
                "sh -c 'exit 3' | cat",
                "'sh -c 'exit 3'' in the pipe 'sh -c 'exit 3' | cat' failed: exit status: 3",
            ),
            ("cat no-such-file 2>/dev/null | sed s/a/b/ | cat", "'cat no-such-file 2>/dev/null' in the pipe"),
            (
                "(cat no-such-file 2>/dev/null | cat) | cat",
                "'(cat no-such-file 2>/dev/null | cat)' in the pipe",
            ),
            ("cd /; cat no-such-file 2>/dev/null | cat", "command 'cd /; cat no-such-file"),
            ("echo a | cat | (exit 7)", "'(exit 7)' in the pipe"),
            ("exit 9", "command 'exit 9' failed: exit status: 9"),
            ("no-such-program-anywhere 2>/dev/null | cat", "failed: exit status: 127"),
        ] {
            let found = failure(command);
            assert!(found.as_ref().is_some_and(|found| found.contains(expected)), "{command}: {found:?}");
        }
    }

    #[test]
    fn readers_that_have_enough_are_no_failure() {
        for command in [
            "yes | head -n 3",
            "yes | cat | head -n 3 | cat",
            "yes $HOME | head -n 3",
            "(yes | head -n 3) | cat",
            "(yes | head -n 3)",
            "cd /; yes | head -n 3",
            "yes | head -n 1 && echo b",
            "if yes | grep -q y; then echo b; fi",
            "(cat no-such-file 2>/dev/null || true) | cat",
        ] {
            assert_eq!(failure(command), None, "{command}");
        }
        let mut input = PipeInput::open("yes | cat").unwrap();
        input.read_exact(&mut [0; 10]).unwrap();
        input.close().unwrap();
    }

    #[test]
    fn commands_that_stop_reading() {
        let write = |command: &str| {
            let mut output = PipeOutput::open(command).unwrap();
            let written = (0..100).try_for_each(|_| output.write_all(&[0; 65536]));
            written.map_err(|e| e.to_string()).and_then(|()| output.close().map_err(|e| e.to_string()))
        };
        assert_eq!(write("cat | cat >/dev/null"), Ok(()));
        assert_eq!(write("false").unwrap_err(), "command 'false' failed: exit status: 1");
        assert!(write("cat | false").unwrap_err().starts_with("'false' in the pipe 'cat | false' failed"));
        assert!(write("true").unwrap_err().contains("'true' ended without an error before"));
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
