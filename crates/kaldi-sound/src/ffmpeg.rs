//! Recordings that the program ffmpeg decodes, as a wave through a pipe.

use std::io::{self, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::thread::JoinHandle;

use kaldi_io::KaldiReader;

use crate::{Error, Result};

/// Longest message of ffmpeg that is shown, in bytes.
const MESSAGE: u64 = 300;

/// True if ffmpeg can be started.
pub(crate) fn is_installed() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        let version = Command::new("ffmpeg").arg("-version").stdin(Stdio::null()).output();
        version.is_ok_and(|output| output.status.success())
    })
}

/// The output of ffmpeg. At its end, a failure of ffmpeg is an error of reading.
struct Output {
    file: String,
    child: Child,
    samples: ChildStdout,
    message: Option<JoinHandle<String>>,
}

impl Read for Output {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.samples.read(out)?;
        if read == 0 && !out.is_empty() {
            let message =
                self.message.take().map(|thread| thread.join().unwrap_or_default()).unwrap_or_default();
            if !self.child.wait()?.success() {
                let message = message.trim().lines().last().unwrap_or("it failed").to_owned();
                return Err(io::Error::other(Error::Ffmpeg { file: self.file.clone(), message }));
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

/// A wave file that ffmpeg makes of the rest of the input. A playlist in the input cannot make it read files or addresses.
pub(crate) fn convert(mut reader: KaldiReader) -> Result<KaldiReader> {
    let file = reader.name().to_owned();
    let failed = |source: io::Error| Error::Ffmpeg { file: file.clone(), message: source.to_string() };
    let mut child = Command::new("ffmpeg")
        .args(["-hide_banner", "-v", "error", "-protocol_whitelist", "pipe", "-i", "pipe:0"])
        .args(["-f", "wav", "-acodec", "pcm_s16le", "pipe:1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (Some(mut input), Some(samples), Some(errors)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(failed(io::Error::other("its pipes are not there")));
    };
    // ffmpeg may end before it has read all, so a closed pipe is no fault.
    std::thread::spawn(move || io::copy(&mut reader, &mut input).unwrap_or(0));
    let message = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _read = errors.take(MESSAGE).read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    Ok(KaldiReader::from_read(file.clone(), Output { file, child, samples, message: Some(message) }))
}
