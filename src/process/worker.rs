//! `nnet3-train --worker`: runs programs one after another in one process, for a driver that would start hundreds of
//! processes.
//!
//! A line of standard input is `LOG<TAB>COMMAND`. The command's output is appended to the log. A line of standard
//! output is its exit status. The worker ends with its input, or if a program panics or runs out of memory. The worker
//! saves only the costs of a process: its start, its linking, and its memory.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use kaldi_cli::log::{self, Site};
use kaldi_cli::terminal;
use kaldi_io::shell;

/// A program's `main`, by its name.
pub type Find = fn(&str) -> Option<fn() -> ExitCode>;

/// Runs commands until its input ends.
pub fn run(find: Find) -> ExitCode {
    match serve(find) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            terminal::print(format!("nnet3-train --worker: {e:#}\n").as_bytes());
            ExitCode::from(kaldi_cli::FAILED)
        }
    }
}

#[allow(clippy::disallowed_methods)] // Programs flush their standard output; this is about its descriptor.
fn serve(find: Find) -> Result<()> {
    // Programs have the log as standard output and error, and an empty standard input.
    let requests = BufReader::new(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    let mut replies = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let nothing = OpenOptions::new().read(true).write(true).open("/dev/null").context("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    for request in requests.lines() {
        let request = request.context("a request")?;
        let (log, command) = request.split_once('\t').context("a request without a tab")?;
        let to = OpenOptions::new().append(true).create(true).open(log).with_context(|| log.to_owned())?;
        rustix::stdio::dup2_stdout(&to)?;
        rustix::stdio::dup2_stderr(&to)?;
        let status = status_of(find, command).unwrap_or_else(|e| {
            log::error(&Site::PROGRAM, &format!("{e:#}"));
            kaldi_cli::FAILED
        });
        writeln!(replies, "{status}").context("a reply")?;
    }
    Ok(())
}

/// Runs programs that are joined by `&&`, up to the first that fails.
fn status_of(find: Find, line: &str) -> Result<u8> {
    for command in line.split(" && ") {
        let Some(words) = shell::plain_words(command) else {
            bail!("expected a program and its arguments, found '{command}'")
        };
        let Some(program) = words.first().and_then(|name| find(name)) else {
            bail!("'{command}' is not a program of this binary")
        };
        let status = kaldi_cli::run_main(program, words.into_iter().map(OsString::from).collect());
        if status != 0 {
            return Ok(status);
        }
    }
    Ok(0)
}
