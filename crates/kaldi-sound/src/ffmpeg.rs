//! Recordings that the program ffmpeg decodes. It gives samples with their times, as Matroska through a pipe.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::{OnceLock, PoisonError};

use kaldi_io::{IoError, threads};
use socket2::Socket;

use crate::blocks::{Block, Blocks, End};
use crate::demuxed::{Demuxed, Kind, Known};
use crate::input::Input;
use crate::program::{self, Messages};
use crate::{Error, Result, Warning};

/// Bytes that are sent at once.
const BLOCK: usize = 1 << 16;
/// The smallest gap between time stamps that becomes silence, in seconds.
const GAP: f64 = 0.1;
/// The length of blocks, in seconds, whose times are compared with the next one: times are rounded to 1 ms.
const COMPARED: f64 = 0.004;
/// Formats that ffmpeg may find in a file that it can open. None of them reads other files or addresses.
const FORMATS: &str = "mov,mp4,caf,aiff,avi,asf,wav,w64,voc,rm,ape,wv,tta,dsf,iff,matroska,ogg,flv,mpeg,mpegts,nut,mxf,au,amr,mp3,flac,aac,ac3,eac3,wtv";
/// Seconds by which the length that a file gives may be wrong: delays of encoders, whole packets, tenths of a second.
const INEXACT: f64 = 0.3;
/// Packets without a sample that cause no warning: this part of all, or these.
const PARTS: u64 = 50;
const FEW: u64 = 10;
/// The message of some readers of ffmpeg at the end of a file.
const END: &str = "Input/output error";
/// A part of the message of ffmpeg about a recording of pictures alone, and our message.
const NO_STREAM: &str = "does not contain any stream";
pub(crate) const NO_SOUND: &str = "there is no sound in it";
/// Moves frames whose time stamps go back to the end of the frame before, which register 0 has, and leaves out samples before the
/// time zero.
const FILTER: &str = "asetpts='st(1,if(ld(2),if(isnan(PTS),ld(0),max(PTS,ld(0))),if(isnan(PTS),0,PTS)))\
    +0*st(2,1)+0*st(0,ld(1)+NB_SAMPLES/(SR*TB))',atrim=start=0";
/// Times count from the beginning of all streams, of sound or not. (ffmpeg counts from the beginning of the sound, unless it is told to
/// move time stamps, and closes gaps of more than 10 s.)
const TIMES: [&str; 4] = ["-itsoffset", "0.000001", "-dts_delta_threshold", "100000"];
/// Reads more of an MPEG stream before the tracks are fixed than ffmpeg does: 10 minutes, and so many bytes.
const FAR: [&str; 4] = ["-analyzeduration", "600M", "-probesize", "256M"];
/// The form of the output: packets are written soon.
const OUTPUT: [&str; 11] = [
    "-f",
    "matroska",
    "-cluster_time_limit",
    "100",
    "-flush_packets",
    "1",
    "-write_crc32",
    "0",
    "-acodec",
    "pcm_f32le",
    "pipe:1",
];

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
    /// `None` if there are no samples.
    sound: Option<Demuxed>,
    /// The block behind the last one that was given.
    held: Option<Block>,
    has_times: bool,
    /// In Hz.
    rate: u32,
    /// Seconds of samples so far.
    given: f64,
    messages: Messages,
    track: Option<(usize, usize)>,
    /// True if a track was asked for by its number.
    asked: bool,
}

impl Converted {
    /// Starts ffmpeg. `track` is the track of sound to decode, from 1, and the number of tracks, if these are known; `asked`
    /// the number of the track that the user wants. Time stamps are followed if the file `has_times`. Sound may begin `far` behind the
    /// picture. If this fails, no more bytes of a stream are read.
    pub fn open(
        file: &str,
        source: Source,
        track: Option<(usize, usize)>,
        asked: Option<usize>,
        has_times: bool,
        far: bool,
    ) -> Result<Converted> {
        let mut command = Command::new("ffmpeg");
        command.args(["-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+verbose"]).args(TIMES);
        if far {
            command.args(FAR);
        }
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
        command.args(["-vn", "-sn", "-dn", "-af", filter]).args(OUTPUT);
        let failed = |lines: &[String]| message(lines);
        let mut sender = None;
        let (output, messages) = match source {
            Source::File(kept) => program::start(file, command, kept.into(), failed)?,
            Source::Stream(input) => {
                let io = |source| IoError::Io { name: file.to_owned(), source };
                let (ours, theirs) = UnixStream::pair().map_err(io)?;
                let ours = Socket::from(OwnedFd::from(ours));
                let started = program::start(file, command, OwnedFd::from(theirs).into(), failed)?;
                sender = Some(threads::start("bytes for ffmpeg", move || send(input, &ours))?);
                started
            }
        };
        let output = Input::new(output);
        let known = Known { track: Some(1), kind: Kind::Converted, index: None };
        let sound = Demuxed::open(file, Box::new(output.clone()), known, Vec::new).ok();
        let Some(failure) = output.failure() else {
            let asked = asked.is_some();
            return Ok(Converted {
                sound,
                held: None,
                has_times,
                rate: 0,
                given: 0.0,
                messages,
                track,
                asked,
            });
        };
        // (The program ends with the last reader of its output, and so does the thread.)
        drop((output, sound));
        if let Some(sender) = sender {
            sender.join();
        }
        let message = failure.to_string();
        Err(match asked {
            Some(wanted) if message.contains("matches no streams") => {
                let lines = messages.lock().unwrap_or_else(PoisonError::into_inner);
                Error::NoTrack { file: file.to_owned(), wanted, there: tracks(&lines).len() }
            }
            _ => Error::Program { file: file.to_owned(), message },
        })
    }

    /// The next block as it was decoded.
    fn pull(&mut self) -> Result<Option<Block>> {
        let block = self.sound.as_mut().map_or(Ok(None), Demuxed::next)?;
        Ok(block.map(|block| {
            self.rate = block.rate;
            self.given += block.frames() as f64 / f64::from(block.rate.max(1));
            let at = block.at.filter(|_| self.has_times);
            Block { at, tolerance: (GAP * f64::from(block.rate)) as i64, ..block }
        }))
    }
}

/// True if the second block begins while the first one still sounds, by their times. ffmpeg gives such times behind a frame
/// whose time is wrong, and it gives that to one frame where the sampling rate changes.
fn overlap(first: &Block, second: &Block) -> bool {
    let frames = first.frames() as i64;
    let later = second.at.zip(first.at).map(|(second, first)| second - first);
    frames as f64 > COMPARED * f64::from(first.rate) && later.is_some_and(|later| later < frames / 2)
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

/// A message without the name of the input before it.
fn without_input(message: &str) -> &str {
    message.trim_start_matches("/proc/self/fd/0: ").trim_start_matches("pipe:0: ")
}

/// The last error among messages.
fn failure(lines: &[String]) -> &str {
    let errors = lines.iter().rev().filter_map(|line| of_level(line, &["fatal", "error"]));
    let mut said = errors.map(without_input).filter(|error| !error.starts_with("Conversion failed"));
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

/// Packets that were read of the sound, and frames that were decoded of them. A frame is made of one packet or more.
fn decoded(lines: &[String]) -> Option<(u64, u64)> {
    let of_sound = |line: &&String| line.contains("Input stream #") && line.contains(" frames decoded");
    let line = lines.iter().rev().find(of_sound)?;
    let before = |words: &str| -> Option<u64> { line.split_once(words)?.0.rsplit(' ').next()?.parse().ok() };
    Some((before(" packets read")?, before(" frames decoded")?))
}

impl Blocks for Converted {
    fn next(&mut self) -> Result<Option<Block>> {
        let Some(mut block) = self.held.take().map_or_else(|| self.pull(), |block| Ok(Some(block)))? else {
            return Ok(None);
        };
        self.held = self.pull()?;
        if self.held.as_ref().is_some_and(|next| overlap(&block, next)) {
            block.at = None;
        }
        Ok(Some(block))
    }

    fn end(&mut self) -> End {
        let lines = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = self.rate;
        let samples = |seconds: f64| (seconds * f64::from(rate)) as i64;
        let mut end = End {
            expected: length(&lines).map(|seconds| (samples(seconds), rate)),
            slack: samples(INEXACT) as usize,
            certain: true,
            ..End::default()
        };
        let errors = lines.iter().filter_map(|line| of_level(line, &["fatal", "error"]));
        // (The readers of some formats call the end of the file so. The input tells its own failures.)
        let errors: Vec<&str> = errors.filter(|error| without_input(error) != END).collect();
        let each = |frames: u64| self.given / frames.max(1) as f64;
        let lost = decoded(&lines).filter(|(packets, frames)| packets > frames);
        let seconds = lost.map(|(packets, frames)| each(frames) * (packets - frames) as f64);
        if let Some(first) = errors.first() {
            let more = match errors.len() {
                1 => String::new(),
                count => format!(" (and {} more messages)", count - 1),
            };
            let reason = format!("ffmpeg: {}{more}", without_input(first));
            end.warnings.push(Warning::Perhaps { at: f64::NAN, seconds, reason });
        } else if let Some((packets, frames)) = lost
            && frames + (packets / PARTS).max(FEW) < packets
        {
            let reason = format!("ffmpeg decoded {frames} of {packets} packets");
            end.warnings.push(Warning::Perhaps { at: f64::NAN, seconds, reason });
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
            "[info] Output #0, matroska, to 'pipe:1':",
            "[info]   Stream #0:0: Audio: pcm_f32le ([3][0][0][0] / 0x0003), 48000 Hz, mono, flt",
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
        assert_eq!(length(&lines), None);
        let mut lines: Vec<String> = [
            "[info] Input #0, avi, from '/proc/self/fd/0':",
            "[info]   Duration: 01:02:03.50, start: 0.000000, bitrate: 65 kb/s",
            "[info]   Stream #0:0: Audio: mp3, 16000 Hz, mono, fltp, 24 kb/s",
            "[info] Output #0, matroska, to 'pipe:1':",
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
