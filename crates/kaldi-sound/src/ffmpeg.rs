//! Recordings that the program ffmpeg decodes, as a wave through a pipe.

use std::io;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use kaldi_io::KaldiReader;

use crate::{Result, program};

/// True if ffmpeg can be started.
pub(crate) fn is_installed() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        let version = Command::new("ffmpeg").arg("-version").stdin(Stdio::null()).output();
        version.is_ok_and(|output| output.status.success())
    })
}

/// A wave file that ffmpeg makes of the rest of the input. A playlist in the input cannot make it read files or addresses.
pub(crate) fn convert(mut reader: KaldiReader) -> Result<KaldiReader> {
    let file = reader.name().to_owned();
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-v", "error", "-protocol_whitelist", "pipe", "-i", "pipe:0"]).args([
        "-f",
        "wav",
        "-acodec",
        "pcm_s16le",
        "pipe:1",
    ]);
    let (wave, input) =
        program::start(&file, command, Stdio::piped(), |message| format!("ffmpeg: {message}"))?;
    if let Some(mut input) = input {
        // ffmpeg may end before it has read all, so a closed pipe is no fault.
        std::thread::spawn(move || io::copy(&mut reader, &mut input).unwrap_or(0));
    }
    Ok(wave)
}
