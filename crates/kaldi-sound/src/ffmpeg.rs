//! Recordings that the program ffmpeg decodes, as a wave through a pipe.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::{OnceLock, PoisonError};

use kaldi_feat::wave::WaveStream;
use kaldi_io::{IoError, threads};
use socket2::Socket;

use crate::blocks::{Block, Blocks, End};
use crate::input::Input;
use crate::program::{self, Messages};
use crate::{Error, Result, Warning};

/// Bytes that are sent at once.
const BLOCK: usize = 1 << 16;
/// Blocks of a second.
const BLOCKS: u32 = 20;
/// Formats that ffmpeg may find in a file that it can open. None of them reads other files or addresses.
const FORMATS: &str = "mov,mp4,caf,aiff,avi,asf,wav,w64,voc,rm,ape,wv,tta,dsf,iff,matroska,ogg,flv,mpeg,mpegts,nut,mxf,au,amr,mp3,flac,aac,ac3,eac3,wtv";
/// Seconds by which the length that a file gives may be wrong: delays of encoders, whole packets, tenths of a second.
const INEXACT: f64 = 0.3;
/// Packets without a sample that cause no warning: this part of all, or these.
const PARTS: u64 = 50;
const FEW: u64 = 10;
/// A part of the message of ffmpeg about a recording of pictures alone, and our message.
const NO_STREAM: &str = "does not contain any stream";
const NO_SOUND: &str = "there is no sound in it";
/// Puts silence where time stamps tell of sound that is not there, as [`crate::timeline`] does. The first filter moves frames whose
/// time stamps go back to the end of the frame before: the second one would leave them out. Register 0 has that end.
const FILTER: &str = "asetpts='st(1,if(ld(2),if(isnan(PTS),ld(0),max(PTS,ld(0))),if(isnan(PTS),0,PTS)))\
    +0*st(2,1)+0*st(0,ld(1)+NB_SAMPLES/(SR*TB))',aresample=async=1:first_pts=0";

/// Leaves out time stamps: frames follow each other.
const NO_TIMES: &str = "asetpts=NAN";

/// True if a file that begins like this consists of frames one behind the other, without time stamps: MPEG audio, AAC in ADTS or
/// LATM, AC-3, E-AC-3, DTS, MLP, TrueHD. ffmpeg computes times from the first rate or from bit rates, which is wrong where these
/// change.
pub(crate) fn is_without_times(begin: &[u8]) -> bool {
    match begin {
        [0xff, second, ..] if second & 0xe0 == 0xe0 => true,
        [0x56, second, ..] if second & 0xe0 == 0xe0 => true,
        [0x0b, 0x77, ..] | [0x77, 0x0b, ..] => true,
        [0x7f, 0xfe, 0x80, 0x01, ..]
        | [0xfe, 0x7f, 0x01, 0x80, ..]
        | [0x1f, 0xff, 0xe8, 0, ..]
        | [0xff, 0x1f, 0, 0xe8, ..]
        | [0x64, 0x58, 0x20, 0x25, ..] => true,
        [_, _, _, _, 0xf8, 0x72, 0x6f, 0xba | 0xbb, ..] => true,
        _ => false,
    }
}

/// The reason why ffmpeg cannot be started, as the end of a sentence about it. `None` if it can.
pub(crate) fn not_startable() -> Option<&'static str> {
    static STATE: OnceLock<Option<String>> = OnceLock::new();
    let state = STATE.get_or_init(|| {
        let version = Command::new("ffmpeg").arg("-version").stdin(Stdio::null()).output();
        match version {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(format!("cannot be started ({})", output.status)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some("is not installed".to_owned()),
            Err(error) => Some(format!("cannot be started ({error})")),
        }
    });
    state.as_deref()
}

/// The bytes of a recording for ffmpeg.
pub(crate) enum Source {
    /// A file, from its beginning.
    File(File),
    /// Bytes in their order.
    Stream(Input),
}

/// The sound that ffmpeg finds.
pub(crate) struct Converted {
    wave: WaveStream,
    messages: Messages,
    track: Option<(usize, usize)>,
    /// True if a track was asked for by its number.
    asked: bool,
}

impl Converted {
    /// Starts ffmpeg. `track` is the track of sound to decode, from 1, and the number of tracks, if these are known; `asked`
    /// the number of the track that the user wants. Time stamps are followed if the file `has_times`.
    pub fn open(
        file: &str,
        source: Source,
        track: Option<(usize, usize)>,
        asked: Option<usize>,
        has_times: bool,
    ) -> Result<Converted> {
        let mut command = Command::new("ffmpeg");
        command.args(["-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+verbose"]);
        match source {
            Source::File(_) => command
                .args(["-protocol_whitelist", "file", "-format_whitelist", FORMATS])
                .args(["-i", "/proc/self/fd/0"]),
            // A playlist in the input cannot make it read files or addresses.
            Source::Stream(_) => command.args(["-protocol_whitelist", "pipe", "-i", "pipe:0"]),
        };
        if let Some(number) = asked.or(track.map(|(number, _)| number)) {
            // (A track of the number 0 is not there.)
            let index = number.checked_sub(1).unwrap_or(u16::MAX.into());
            command.args(["-map", &format!("0:a:{index}")]);
        }
        let filter = if has_times { FILTER } else { NO_TIMES };
        command.args(["-vn", "-sn", "-dn", "-af", filter, "-f", "wav", "-acodec", "pcm_f32le", "pipe:1"]);
        let failed = |lines: &[String]| message(lines);
        let (output, messages) = match source {
            Source::File(kept) => program::start(file, command, kept.into(), failed)?,
            Source::Stream(input) => {
                let io = |source| IoError::Io { name: file.to_owned(), source };
                let (ours, theirs) = UnixStream::pair().map_err(io)?;
                let ours = Socket::from(OwnedFd::from(ours));
                let started = program::start(file, command, OwnedFd::from(theirs).into(), failed)?;
                threads::start("bytes for ffmpeg", move || send(input, &ours))?;
                started
            }
        };
        let wave = WaveStream::new(output).map_err(|error| match (error, track, asked) {
            (IoError::Io { source, .. }, _, Some(wanted))
                if source.to_string().contains("matches no streams") =>
            {
                let lines = messages.lock().unwrap_or_else(PoisonError::into_inner);
                Error::NoTrack { file: file.to_owned(), wanted, there: tracks(&lines).len() }
            }
            (IoError::Io { source, .. }, ..) => {
                Error::Program { file: file.to_owned(), message: source.to_string() }
            }
            (..) => Error::Program { file: file.to_owned(), message: NO_SOUND.to_owned() },
        })?;
        Ok(Converted { wave, messages, track, asked: asked.is_some() })
    }
}

/// Sends all bytes. A program that ends before it has read all is no fault, and causes no signal.
fn send(mut input: Input, socket: &Socket) {
    let mut block = vec![0; BLOCK];
    loop {
        let mut rest = match input.read(&mut block) {
            Ok(0) => return,
            Ok(read) => &block[..read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // (The input keeps its failure.)
            Err(_) => return,
        };
        while !rest.is_empty() {
            match socket.send_with_flags(rest, libc::MSG_NOSIGNAL) {
                Ok(sent) => rest = &rest[sent..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

/// A message without its origin and its level. `None` if its level is another one.
fn of_level<'l>(line: &'l str, levels: &[&str]) -> Option<&'l str> {
    levels.iter().find_map(|level| {
        let at = line.find(&format!("[{level}] "))?;
        line[..at].is_empty().then_some(()).or_else(|| line.starts_with('[').then_some(()))?;
        Some(&line[at + level.len() + 3..])
    })
}

/// Says why ffmpeg failed.
fn message(lines: &[String]) -> String {
    match failure(lines) {
        said if said.contains(NO_STREAM) => NO_SOUND.to_owned(),
        said => format!("ffmpeg: {said}"),
    }
}

/// The last error among messages.
fn failure(lines: &[String]) -> &str {
    let errors = lines.iter().rev().filter_map(|line| of_level(line, &["fatal", "error"]));
    let said =
        errors.map(|error| error.trim_start_matches("/proc/self/fd/0: ").trim_start_matches("pipe:0: "));
    let mut said = said.filter(|error| !error.starts_with("Conversion failed"));
    said.next().or(lines.last().map(String::as_str)).unwrap_or("it failed")
}

/// The streams of sound, by their names `0:1` and the like.
fn tracks(lines: &[String]) -> Vec<String> {
    let input = lines[..output(lines)].iter();
    let streams = input.filter_map(|line| of_level(line, &["info"])?.trim().strip_prefix("Stream #"));
    let mut all: Vec<String> = Vec::new();
    for stream in streams.filter(|stream| stream.contains("Audio: ")) {
        let name: String = stream.chars().take_while(|c| c.is_ascii_digit() || *c == ':').collect();
        let name = name.trim_end_matches(':').to_owned();
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// The stream that is decoded: `Stream #0:1 -> #0:0`.
fn taken(lines: &[String]) -> Option<String> {
    let mapped = lines.iter().filter_map(|line| of_level(line, &["info"])?.trim().strip_prefix("Stream #"));
    let name = mapped.filter(|stream| stream.contains(" -> #")).find_map(|stream| stream.split(' ').next());
    name.map(str::to_owned)
}

/// The number of the line that begins the description of the output.
fn output(lines: &[String]) -> usize {
    lines.iter().position(|line| line.contains("Output #0")).unwrap_or(lines.len())
}

/// The length in seconds that the file gives. `None` if ffmpeg has guessed it, or if it may be that of other streams.
fn length(lines: &[String]) -> Option<f64> {
    let input = &lines[..output(lines)];
    if input.iter().any(|line| line.contains("Estimating duration") || line.contains(": Video: "))
        || tracks(lines).len() != 1
    {
        return None;
    }
    let duration = input.iter().find_map(|line| of_level(line, &["info"])?.trim().strip_prefix("Duration: "));
    let parts = duration?.split(',').next()?.split(':');
    parts.map(|part| part.parse::<f64>().ok()).try_fold(0.0, |sum, part| Some(60.0 * sum + part?))
}

/// Samples of silence that ffmpeg has put in the middle of the sound (`adding `), or samples that it has left out there
/// (`discarding `). Those before the sound come before the output is named.
fn changed(lines: &[String], how: &str) -> u64 {
    let said =
        lines[output(lines)..].iter().filter_map(|line| of_level(line, &["verbose"])?.strip_prefix(how));
    said.filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok()).sum()
}

/// Packets that were read of the sound, and frames that were decoded of them. A frame is made of one packet or more.
fn decoded(lines: &[String]) -> Option<(u64, u64)> {
    let of_sound = |line: &&String| line.contains("Input stream #") && line.contains(" frames decoded");
    let line = lines.iter().rev().find(of_sound)?;
    let before = |words: &str| -> Option<u64> { line.split_once(words)?.0.rsplit(' ').next()?.parse().ok() };
    Some((before(" packets read")?, before(" frames decoded")?))
}

impl Blocks for Converted {
    fn next(&mut self) -> Result<Option<Block>> {
        let (rate, channels) = (self.wave.sample_rate(), self.wave.channels());
        let samples = self.wave.read_all((rate / BLOCKS).max(1) as usize)?;
        let block =
            Block { rate, channels, samples, not_finite: self.wave.take_not_finite(), ..Block::default() };
        Ok((!block.samples.is_empty()).then_some(block))
    }

    fn end(&mut self) -> End {
        let lines = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = self.wave.sample_rate();
        let samples = |seconds: f64| (seconds * f64::from(rate)) as i64;
        let mut end = End {
            expected: length(&lines).map(|seconds| (samples(seconds), rate)),
            slack: samples(INEXACT) as usize,
            certain: true,
            ..End::default()
        };
        let errors: Vec<&str> = lines.iter().filter_map(|line| of_level(line, &["fatal", "error"])).collect();
        if let Some(first) = errors.first() {
            let more = if errors.len() > 1 {
                format!(" (and {} more messages)", errors.len() - 1)
            } else {
                String::new()
            };
            end.warnings.push(Warning::Other(format!("ffmpeg: {first}{more}; sound may be missing")));
        }
        if let Some((packets, frames)) = decoded(&lines)
            && errors.is_empty()
            && frames + (packets / PARTS).max(FEW) < packets
        {
            end.warnings.push(Warning::Other(format!(
                "ffmpeg decoded {frames} of {packets} packets; sound may be missing"
            )));
        }
        let seconds = |how| changed(&lines, how) as f64 / f64::from(self.wave.sample_rate());
        let (silence, left_out) = (seconds("adding "), seconds("discarding "));
        if left_out >= 0.1 {
            end.warnings.push(Warning::Other(format!(
                "{left_out:.2} s of sound are left out, whose time stamps go back"
            )));
        }
        if silence >= 0.1 {
            end.warnings.push(Warning::Other(format!(
                "{silence:.2} s of sound are missing in the middle; silence takes their place"
            )));
        }
        end
    }

    fn track(&self) -> (usize, usize) {
        if let Some(track) = self.track {
            return track;
        }
        let lines = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let all = tracks(&lines);
        let number = taken(&lines).and_then(|name| all.iter().position(|track| *track == name));
        match number {
            Some(number) if !self.asked => (number + 1, all.len()),
            _ => (1, 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_ffmpeg() {
        let lines: Vec<String> = [
            "[info] Input #0, matroska,webm, from 'pipe:0':",
            "[info]   Stream #0:0: Audio: opus, 48000 Hz, mono, fltp",
            "[info]   Stream #0:1: Audio: opus, 48000 Hz, mono, fltp (default)",
            "[info] Stream mapping:",
            "[info]   Stream #0:1 -> #0:0 (opus (native) -> pcm_f32le (native))",
            "[resample @ 0x7] [SWR @ 0x5] [verbose] adding 48000 audio samples of silence",
            "[info] Output #0, wav, to 'pipe:1':",
            "[info]   Stream #0:0: Audio: pcm_f32le ([3][0][0][0] / 0x0003), 48000 Hz, mono, flt",
            "[resample @ 0x7] [SWR @ 0x5] [verbose] adding 4800 audio samples of silence",
            "[resample @ 0x7] [SWR @ 0x5] [verbose] discarding 960 audio samples",
            "[opus @ 0x55] [error] Error parsing the packet header.",
            "[error] pipe:0: Invalid data found when processing input",
        ]
        .map(str::to_owned)
        .to_vec();
        assert_eq!(failure(&lines), "Invalid data found when processing input");
        assert_eq!(decoded(&lines), None);
        let read = "[verbose]   Input stream #0:1 (audio): 938 packets read (1766250 bytes); 437 frames decoded (223744 samples); ";
        assert_eq!(decoded(&[read.to_owned(), "[verbose] more".to_owned()]), Some((938, 437)));
        let pictures = ["[fatal] Output file #0 does not contain any stream".to_owned()];
        assert_eq!(message(&pictures), "there is no sound in it");
        assert_eq!((tracks(&lines).len(), taken(&lines).as_deref()), (2, Some("0:1")));
        assert_eq!(
            (changed(&lines, "adding "), changed(&lines, "discarding "), length(&lines)),
            (4800, 960, None)
        );
        let mut lines: Vec<String> = [
            "[info] Input #0, avi, from '/proc/self/fd/0':",
            "[info]   Duration: 01:02:03.50, start: 0.000000, bitrate: 65 kb/s",
            "[info]   Stream #0:0: Audio: mp3, 16000 Hz, mono, fltp, 24 kb/s",
            "[info] Output #0, wav, to 'pipe:1':",
        ]
        .map(str::to_owned)
        .to_vec();
        assert_eq!(length(&lines), Some(3723.5));
        lines[1] = lines[1].replace("01:02:03.50", "N/A");
        assert_eq!(length(&lines), None);
        assert_eq!(
            failure(&["its decoder was ended by signal: 9".to_owned()]),
            "its decoder was ended by signal: 9"
        );
    }
}
