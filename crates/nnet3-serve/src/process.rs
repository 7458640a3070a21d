//! The process that decodes a recording: its start, its end, and its message.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kaldi_io::threads::{self, Thread};
use kaldi_sound::WARNING;
use rustix::process::{Pid, Signal, kill_process_group};

/// Status of a [`DecoderProgram`] that cannot decode the recording. Its last line of standard error says why. Other
/// statuses than 0 are troubles of the server.
pub const BAD_RECORDING: u8 = 3;

/// Longest message of a program that is read, in bytes.
const MESSAGE: u64 = 16 << 10;
/// Time between looks for the end of a process whose output has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// A program that reads a recording from its standard input, and writes it as a wave file
/// ([`SoundStream::write_wave`](kaldi_sound::SoundStream::write_wave)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecoderProgram {
    /// The file of the program.
    pub program: PathBuf,
    /// The name under which it is called, and its arguments.
    pub name: String,
    pub arguments: Vec<String>,
    /// True if the system gives the program less memory or time than it should have. A lack of them is then a trouble of the
    /// server, not of the recording.
    pub is_short: bool,
}

/// The reason why a recording has no text. The text is for the client.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Trouble {
    /// The recording cannot be recognised.
    #[error("{0}")]
    Recording(String),
    /// The server cannot do its work.
    #[error("{0}")]
    Server(String),
    /// The decoder of the recording does not go on.
    #[error("the decoder of the recording has been silent for {0} s, and was ended (--max-decoder-wait)")]
    Stalled(f64),
}

/// A process, and those that it starts. They are ended when this is dropped.
pub struct Process(Mutex<Child>);

impl Process {
    fn child(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the process and those that it has started, if it has not ended by itself. Does not wait.
    pub fn kill(&self) {
        let mut child = self.child();
        // (The number belongs to the process until it is waited for.)
        if matches!(child.try_wait(), Ok(None)) {
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            let _gone = group.map(|group| kill_process_group(group, Signal::KILL));
            let _gone = child.kill();
        }
    }

    /// Waits for its end; others may end it meanwhile.
    fn wait(&self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.child().try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _gone = self.child().wait();
    }
}

/// The parts of a running decoder.
pub struct Decoding {
    pub process: Arc<Process>,
    pub samples: ChildStdout,
    pub ending: Ending,
}

/// The end of a decoder, after its output.
pub struct Ending {
    process: Arc<Process>,
    message: Thread<String>,
    is_short: bool,
}

impl DecoderProgram {
    /// Starts the program with a recording as its input.
    pub fn start(&self, recording: File) -> Result<Decoding, Trouble> {
        let failed = |error: &dyn std::fmt::Display| {
            Trouble::Server(format!("the decoder of the recording cannot be started: {error}"))
        };
        let mut command = Command::new(&self.program);
        // A group of its own, so that programs which it starts end with it.
        command.arg0(&self.name).args(&self.arguments).process_group(0);
        command.stdin(recording).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let (samples, errors) = (child.stdout.take(), child.stderr.take());
        let process = Arc::new(Process(Mutex::new(child)));
        let (Some(samples), Some(errors)) = (samples, errors) else {
            return Err(failed(&"it has no pipes"));
        };
        let message = threads::start("messages of a decoder", move || read_message(errors));
        let message = message.map_err(|error| failed(&error.chain()))?;
        let ending = Ending { process: process.clone(), message, is_short: self.is_short };
        Ok(Decoding { process, samples, ending })
    }

    /// Decodes a recording of a few samples. Fails if that does not work.
    pub fn check(&self, recording: File) -> Result<(), Trouble> {
        let Decoding { process: _process, mut samples, ending } = self.start(recording)?;
        let read = io::copy(&mut samples, &mut io::sink());
        ending.outcome()?;
        read.map(drop).map_err(|error| Trouble::Server(error.to_string()))
    }
}

/// The beginning of a program's messages. The rest is read, so that the program does not wait, and forgotten.
fn read_message(mut errors: ChildStderr) -> String {
    let mut text = Vec::new();
    let _read = errors.by_ref().take(MESSAGE).read_to_end(&mut text);
    let _read = io::copy(&mut errors, &mut io::sink());
    String::from_utf8_lossy(&text).into_owned()
}

impl Ending {
    /// Waits for the end of the program, whose output has ended. Returns its warnings; an error if it failed.
    pub fn outcome(self) -> Result<Vec<String>, Trouble> {
        let status = self.process.wait().map_err(|error| Trouble::Server(error.to_string()))?;
        let message = self.message.join();
        if status.success() {
            return Ok(message
                .lines()
                .filter_map(|line| line.strip_prefix(WARNING))
                .map(str::to_owned)
                .collect());
        }
        Err(trouble(status, &message, self.is_short))
    }
}

/// The reason why a program failed.
fn trouble(status: ExitStatus, message: &str, is_short: bool) -> Trouble {
    let of_limits = |text: String| if is_short { Trouble::Server(text) } else { Trouble::Recording(text) };
    match status.signal().and_then(Signal::from_named_raw) {
        Some(Signal::XCPU) => {
            let text =
                "decoding takes more time of a processor than a recording may have (--max-decoder-seconds)";
            of_limits(text.to_owned())
        }
        Some(signal @ (Signal::KILL | Signal::TERM | Signal::HUP | Signal::INT)) => Trouble::Server(format!(
            "the decoder of the recording was ended by the signal {}",
            signal.as_raw()
        )),
        Some(_) => {
            Trouble::Recording("the recording has a fault that its decoder did not survive".to_owned())
        }
        None => {
            let line = without_prefix(reason(message)).to_owned();
            if status.code() == Some(BAD_RECORDING.into()) {
                Trouble::Recording(line)
            } else if line.starts_with("out of memory") {
                of_limits(format!("the decoder of the recording is {line}"))
            } else {
                Trouble::Server(format!("the decoder of the recording failed: {line}"))
            }
        }
    }
}

/// The line of a message that says why a program failed: the last one that is no warning.
fn reason(message: &str) -> &str {
    let is_reason = |line: &&str| !line.trim().is_empty() && !line.starts_with("WARNING (");
    message.lines().rev().find(is_reason).unwrap_or("it gave no reason").trim()
}

/// A line without the name and the place of the program, as in `ERROR (program[5.5]:main():program.cc:1) text`.
fn without_prefix(line: &str) -> &str {
    let is_log_line = ["ERROR (", "LOG ("].iter().any(|level| line.starts_with(level));
    line.split_once(") ").filter(|_| is_log_line).map_or(line, |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: i32, message: &str, is_short: bool) -> Trouble {
        trouble(ExitStatus::from_raw(status), message, is_short)
    }

    #[test]
    fn troubles_of_recordings_and_of_the_server() {
        let exit = |code: u8| i32::from(code) << 8;
        let log_line =
            |text: &str| format!("WARNING (x[5.5]:f():a.cc:1) w\nERROR (x[5.5]:main():x.cc:1) {text}\n");
        let recording = |text: &str| Trouble::Recording(text.to_owned());
        assert_eq!(of(exit(BAD_RECORDING), "WARNING (a) b\nno sound\n", false), recording("no sound"));
        let memory = "out of memory: 8 bytes were asked for (no)";
        let found = of(exit(255), &log_line(memory), false);
        assert_eq!(found, recording(&format!("the decoder of the recording is {memory}")));
        assert!(matches!(of(exit(255), &log_line(memory), true), Trouble::Server(_)));
        assert!(matches!(of(24, "", false), Trouble::Recording(_)));
        assert!(matches!(of(24, "", true), Trouble::Server(_)));
        assert!(matches!(of(11, "", false), Trouble::Recording(_)));
        let found = of(exit(255), &log_line("no space"), false);
        assert_eq!(found.to_string(), "the decoder of the recording failed: no space");
        assert!(matches!(found, Trouble::Server(_)));
        assert_eq!(of(9, "", false).to_string(), "the decoder of the recording was ended by the signal 9");
        assert!(of(exit(1), "", false).to_string().ends_with("it gave no reason"));
    }

    #[test]
    fn a_process_ends_with_those_that_it_has_started() {
        let program = DecoderProgram {
            program: "/bin/sh".into(),
            name: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), "sleep 100 & echo $!; wait".to_owned()],
            is_short: false,
        };
        let mut decoding = program.start(tempfile::tempfile().unwrap()).unwrap();
        let mut text = [0; 12];
        let length = decoding.samples.read(&mut text).unwrap();
        let grandchild: u32 = String::from_utf8_lossy(&text[..length]).trim().parse().unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{grandchild}/stat")).unwrap_or_default();
        assert!(!state().is_empty());
        decoding.process.kill();
        let found = decoding.ending.outcome().unwrap_err();
        assert_eq!(found.to_string(), "the decoder of the recording was ended by the signal 9");
        let begin = std::time::Instant::now();
        while !(state().is_empty() || state().contains(") Z ")) {
            assert!(begin.elapsed() < Duration::from_secs(10), "{}", state());
            std::thread::sleep(PAUSE);
        }
    }
}
