//! Recordings that another program decodes, as a wave through a pipe.

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use kaldi_io::KaldiReader;

use crate::signal::Signal;
use crate::stream::SoundStream;
use crate::{Channels, Error, Result};

/// Longest message of a program that is read, in bytes.
const MESSAGE: u64 = 2000;
/// Samples that are written at once.
const SAMPLES: usize = 1 << 14;
/// The size of a file whose length is not known when its header is written.
const UNKNOWN: u32 = u32::MAX;

/// Says that a program failed, by its last message. The name of the recording comes before it.
type Failed = Box<dyn Fn(String) -> String + Send>;

/// The output of a program. At its end, a failure of the program is an error of reading.
struct Output {
    child: Child,
    samples: ChildStdout,
    message: Option<JoinHandle<String>>,
    failed: Failed,
}

impl Read for Output {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.samples.read(out)?;
        if read == 0 && !out.is_empty() {
            let message =
                self.message.take().map(|thread| thread.join().unwrap_or_default()).unwrap_or_default();
            let status = self.child.wait()?;
            if !status.success() {
                return Err(io::Error::other((self.failed)(reason(status, &message))));
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

/// The last line of a program's message. A program that a signal has ended does not know why.
fn reason(status: ExitStatus, message: &str) -> String {
    match status.code() {
        Some(_) => message.trim().lines().last().unwrap_or("it failed").to_owned(),
        None => format!("its decoder was ended by {status}"),
    }
}

/// Starts a program that writes a wave file. Returns its output, and its input if that is a pipe.
pub(crate) fn start(
    file: &str,
    mut command: Command,
    input: Stdio,
    failed: impl Fn(String) -> String + Send + 'static,
) -> Result<(KaldiReader, Option<std::process::ChildStdin>)> {
    let not_started = |why: String| Error::Program { file: file.to_owned(), message: failed(why) };
    let started = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|source| not_started(source.to_string()))?;
    let (Some(samples), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(not_started("the pipes to the program could not be opened".to_owned()));
    };
    let input = child.stdin.take();
    let message = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _read = errors.take(MESSAGE).read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let output = Output { child, samples, message: Some(message), failed: Box::new(failed) };
    Ok((KaldiReader::from_read(file, output), input))
}

impl SoundStream {
    /// Opens a recording that a program reads from `input`, and writes as a wave file to its standard output, as
    /// [`write_wave`](SoundStream::write_wave) does. A fault of a decoder, a panic or an endless allocation, ends that program
    /// alone. `name` is that of the recording in errors; the program may begin its messages with it. Fails if the program
    /// does.
    pub fn of_program(name: &str, command: Command, input: File) -> Result<SoundStream> {
        let prefix = format!("{name}: ");
        let failed = move |message: String| message.strip_prefix(&prefix).unwrap_or(&message).to_owned();
        let (mut reader, _) = start(name, command, input.into(), failed)?;
        reader.peek_bytes(1)?;
        SoundStream::from_reader(reader)
    }

    /// Reads the recording to its end, and writes its first channel as a wave file with 16 bits, whose header gives no length.
    pub fn write_wave(self, out: impl Write) -> Result<()> {
        Signal::new(self, Channels::First, None)?.write_wave(out)
    }
}

impl Signal {
    /// Reads the signal to its end, and writes it as a wave file with 16 bits, whose header gives no length.
    pub fn write_wave(mut self, mut out: impl Write) -> Result<()> {
        let failed = |source| kaldi_io::IoError::Io { name: "standard output".to_owned(), source };
        out.write_all(&header(self.rate())).map_err(failed)?;
        loop {
            let samples = self.read(SAMPLES)?;
            if samples.is_empty() {
                out.flush().map_err(failed)?;
                return self.close();
            }
            let bytes: Vec<u8> =
                samples.iter().flat_map(|&sample| (sample.round() as i16).to_le_bytes()).collect();
            out.write_all(&bytes).map_err(failed)?;
        }
    }
}

/// The header of a wave file with one channel of 16 bits.
fn header(rate: u32) -> Vec<u8> {
    const BYTES: u16 = 2;
    let mut out = Vec::new();
    out.extend_from_slice(b"RIFF");
    out.extend_from_slice(&UNKNOWN.to_le_bytes());
    out.extend_from_slice(b"WAVEfmt ");
    out.extend_from_slice(&16u32.to_le_bytes());
    // PCM, one channel.
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&rate.to_le_bytes());
    out.extend_from_slice(&rate.saturating_mul(BYTES.into()).to_le_bytes());
    out.extend_from_slice(&BYTES.to_le_bytes());
    out.extend_from_slice(&(8 * BYTES).to_le_bytes());
    out.extend_from_slice(b"data");
    out.extend_from_slice(&UNKNOWN.to_le_bytes());
    out
}
