//! Recordings that another program decodes, as a wave through a pipe.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use kaldi_io::KaldiReader;
use kaldi_io::threads::{self, Thread};

use crate::signal::Signal;
use crate::stream::SoundStream;
use crate::{Channels, Error, Result, Warning};

/// Lines of a program's messages that are kept, from the beginning and from the end, and the longest one in bytes.
const LINES: usize = 100;
const LAST: usize = 20;
const LONGEST: u64 = 2000;
/// Samples that are written at once.
const SAMPLES: usize = 1 << 14;
/// The size of a file whose length is not known when its header is written.
pub(crate) const UNKNOWN: u32 = u32::MAX;
/// The beginning of a line with a warning, from a process that decodes for another one.
pub const WARNING: &str = "warning: ";

/// Says that a program failed, by its messages. The name of the recording comes before it.
type Failed = Box<dyn Fn(&[String]) -> String + Send>;
/// The messages of a program that has ended.
pub(crate) type Messages = Arc<Mutex<Vec<String>>>;

/// The output of a program. At its end, a failure of the program is an error of reading.
struct Output {
    child: Child,
    samples: ChildStdout,
    reader: Option<Thread<Vec<String>>>,
    messages: Messages,
    failed: Failed,
}

impl Read for Output {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.samples.read(out)?;
        if read == 0 && !out.is_empty() {
            if let Some(reader) = self.reader.take() {
                *self.messages.lock().unwrap_or_else(PoisonError::into_inner) = reader.join();
            }
            let status = self.child.wait()?;
            if !status.success() {
                let lines = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
                return Err(io::Error::other(reason(status, &lines, &self.failed)));
            }
        }
        Ok(read)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // (Of no effect if it has ended.)
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// The reason for a failure. A program that a signal has ended does not know why.
fn reason(status: ExitStatus, lines: &[String], failed: &Failed) -> String {
    match status.code() {
        Some(_) => failed(lines),
        None => failed(&[format!("its decoder was ended by {status}")]),
    }
}

/// Reads all messages, of which the first and the last ones are kept.
fn all_lines(errors: ChildStderr) -> Vec<String> {
    let (mut errors, mut lines) = (BufReader::new(errors), Vec::new());
    loop {
        let mut line = Vec::new();
        match (&mut errors).take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return lines,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        if !line.is_empty() {
            lines.push(line);
            if lines.len() > LINES + LAST {
                lines.remove(LINES);
            }
        }
    }
}

/// Starts a program that writes sound. Returns its output.
pub(crate) fn start(
    file: &str,
    mut command: Command,
    input: Stdio,
    failed: impl Fn(&[String]) -> String + Send + 'static,
) -> Result<(KaldiReader, Messages)> {
    let not_started = |why: String| Error::Program { file: file.to_owned(), message: failed(&[why]) };
    let started = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|source| not_started(source.to_string()))?;
    let (Some(samples), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(not_started("the pipes to the program could not be opened".to_owned()));
    };
    // (The command has a copy of the input's other end.)
    drop(command);
    let reader = threads::start("messages of a decoder", move || all_lines(errors))?;
    let messages = Messages::default();
    let (of_output, failed) = (messages.clone(), Box::new(failed));
    let output = Output { child, samples, reader: Some(reader), messages: of_output, failed };
    Ok((KaldiReader::from_read(file, output), messages))
}

impl SoundStream {
    /// Reads the recording to its end, and writes all its channels as a wave file with 16 bits, whose header gives no length.
    /// Gives the warnings as lines to `say`.
    ///
    /// # Errors
    /// The recording cannot be read, or `out` cannot be written.
    pub fn write_wave(mut self, mut out: impl Write, mut say: impl FnMut(&str)) -> Result<()> {
        let signals = self.signals(Channels::Each)?;
        // (A reader has as many bits for the number of channels as the header.)
        let count = u16::try_from(signals.len()).unwrap_or(u16::MAX);
        out.write_all(&header(self.sample_rate(), count)).map_err(Error::Output)?;
        loop {
            let channels = self.read(SAMPLES, &signals)?;
            let frames = channels.first().map_or(0, Vec::len);
            if frames == 0 {
                out.flush().map_err(Error::Output)?;
                self.warnings().iter().for_each(|warning| say(&line(warning)));
                return self.close();
            }
            let interleaved =
                (0..frames).flat_map(|frame| channels.iter().map(move |channel| channel[frame]));
            out.write_all(&bytes(interleaved)).map_err(Error::Output)?;
        }
    }
}

impl Signal {
    /// Reads the signal to its end, and writes it as a wave file with 16 bits, whose header gives no length. Gives the
    /// warnings as lines to `say`.
    ///
    /// # Errors
    /// The recording cannot be read, or `out` cannot be written.
    pub fn write_wave(mut self, mut out: impl Write, mut say: impl FnMut(&str)) -> Result<()> {
        out.write_all(&header(self.rate(), 1)).map_err(Error::Output)?;
        loop {
            let samples = self.read(SAMPLES)?;
            if samples.is_empty() {
                out.flush().map_err(Error::Output)?;
                self.warnings().iter().for_each(|warning| say(&line(warning)));
                return self.close();
            }
            out.write_all(&bytes(samples.into_iter())).map_err(Error::Output)?;
        }
    }
}

/// The line of a warning.
fn line(warning: &Warning) -> String {
    format!("{WARNING}{}", warning.to_string().replace('\n', " "))
}

/// Samples of 16 bits, the low byte first.
fn bytes(samples: impl Iterator<Item = f32>) -> Vec<u8> {
    samples.flat_map(|sample| (sample.round() as i16).to_le_bytes()).collect()
}

/// The header of a wave file with samples of 16 bits.
fn header(rate: u32, channels: u16) -> Vec<u8> {
    const BYTES: u16 = 2;
    let mut out = Vec::new();
    out.extend_from_slice(b"RIFF");
    out.extend_from_slice(&UNKNOWN.to_le_bytes());
    out.extend_from_slice(b"WAVEfmt ");
    out.extend_from_slice(&16u32.to_le_bytes());
    let frame = channels.saturating_mul(BYTES);
    // PCM.
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&channels.to_le_bytes());
    out.extend_from_slice(&rate.to_le_bytes());
    out.extend_from_slice(&rate.saturating_mul(frame.into()).to_le_bytes());
    out.extend_from_slice(&frame.to_le_bytes());
    out.extend_from_slice(&(8 * BYTES).to_le_bytes());
    out.extend_from_slice(b"data");
    out.extend_from_slice(&UNKNOWN.to_le_bytes());
    out
}
