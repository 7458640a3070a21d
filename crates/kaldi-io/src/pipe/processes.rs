//! The processes of a shell command, started so that a message can name the failed one.
//!
//! A pipeline is split, and each part is a process of its own. If a part is a program with plain arguments, it is
//! started without a shell; otherwise a shell runs it. So the status of each part is known. A shell would report only
//! the status of the last part.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use super::enlarge;
use crate::error::{IoError, Result};
use crate::host::host;
use crate::shell;

const SIGPIPE: i32 = signal_hook::consts::SIGPIPE;

/// A command that runs.
pub(super) struct Processes {
    command: String,
    parts: Vec<Part>,
}

struct Part {
    text: String,
    child: Child,
    /// A shell that tells failures within its own pipelines runs it.
    inner: bool,
}

/// The free ends of the started processes, if pipes were requested.
pub(super) struct Ends {
    pub stdin: Option<ChildStdin>,
    pub stdout: Option<ChildStdout>,
}

impl Processes {
    pub(super) fn start(command: &str, stdin: Stdio, stdout: Stdio) -> io::Result<(Self, Ends)> {
        let texts = shell::parts(command).unwrap_or_else(|| vec![command]);
        let last = texts.len() - 1;
        let mut ends = Ends { stdin: None, stdout: None };
        let (mut from, mut to) = (Some(stdin), Some(stdout));
        let mut parts = Vec::with_capacity(texts.len());
        for (index, text) in texts.into_iter().enumerate() {
            let (mut process, inner) = process(text);
            process.stdin(from.take().unwrap_or_else(Stdio::inherit));
            process.stdout(if index == last { to.take() } else { None }.unwrap_or_else(Stdio::piped));
            if let Some(stderr) = host().stderr_of_command() {
                process.stderr(stderr);
            }
            let mut child = process.spawn()?;
            if index == 0 {
                ends.stdin = child.stdin.take();
            }
            let stdout = child.stdout.take();
            stdout.iter().for_each(enlarge);
            if index == last {
                ends.stdout = stdout;
            } else {
                from = stdout.map(Stdio::from);
            }
            parts.push(Part { text: text.trim().to_owned(), child, inner });
        }
        ends.stdin.iter().for_each(enlarge);
        Ok((Processes { command: command.trim().to_owned(), parts }, ends))
    }

    pub(super) fn command(&self) -> &str {
        &self.command
    }

    /// Ends all processes, whatever they do.
    pub(super) fn stop(mut self) {
        for part in &mut self.parts {
            // (One that has ended by itself is no fault.)
            let _ = part.child.kill();
            let _ = part.child.wait();
        }
    }

    /// Waits for all processes. The first part that failed is the error. To be stopped by a reader that has enough is no
    /// failure: that reader is a later part, or, if `all_read` is false, our end.
    pub(super) fn wait(mut self, all_read: bool) -> Result<()> {
        let last = self.parts.len() - 1;
        let mut failed = None;
        for (index, part) in self.parts.iter_mut().enumerate() {
            let status =
                part.child.wait().map_err(|source| IoError::Io { name: part.text.clone(), source })?;
            let may_be_stopped = index < last || !all_read || part.inner;
            let fine = status.success() || may_be_stopped && is_stopped(status);
            if !fine && failed.is_none() {
                failed = Some((index, status));
            }
        }
        let Some((index, status)) = failed else { return Ok(()) };
        let command = self.command;
        if last == 0 {
            return Err(IoError::Pipe { command, status });
        }
        let part = self.parts.swap_remove(index).text;
        Err(IoError::PipePart { part, command, status })
    }
}

/// True if a process, or one that a shell has waited for, was stopped because its reader closed the pipe.
fn is_stopped(status: ExitStatus) -> bool {
    status.signal() == Some(SIGPIPE) || status.code() == Some(128 + SIGPIPE)
}

/// Returns the process for a part, and true if it reports failures of pipelines inside the part.
fn process(text: &str) -> (Command, bool) {
    if let Some(words) = shell::plain_words(text)
        && let Some(program) = shell::program_of(&words)
    {
        let mut process = Command::new(program);
        process.arg0(&words[0]).args(&words[1..]);
        return (process, false);
    }
    if let Some(bash) = bash()
        && shell::has_inner_pipe(text)
    {
        let mut process = Command::new(bash);
        // Under this name, bash behaves like a /bin/sh that is bash.
        process.arg0("sh").args(["-o", "pipefail", "-c", text]);
        return (process, true);
    }
    let mut process = Command::new("/bin/sh");
    process.arg("-c").arg(text);
    (process, false)
}

/// Returns the path of bash, which reports failures within pipelines, if it is installed.
fn bash() -> Option<&'static Path> {
    static BASH: OnceLock<Option<std::path::PathBuf>> = OnceLock::new();
    BASH.get_or_init(|| shell::program_file("bash")).as_deref()
}
