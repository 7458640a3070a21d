//! The conversation of a recognizer with a client: samples come, lines of words go
//! (`online2bin/online2-tcp-nnet3-decode-faster.cc`).
//!
//! The client sends samples of 16 bits, the low byte first, without a header. Now and then it gets the words so far, ended by a
//! carriage return. At each endpoint and at the end it gets a line.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use kaldi_online::Speaker;
use nnet3_decode::path;

use crate::error::Result;
use crate::stream::{State, Stream};

/// Rules of a conversation.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// Samples that are waited for, unless the client makes a pause.
    pub chunk: usize,
    /// In Hz.
    pub rate: f32,
    /// Samples from one line of words so far to the next.
    pub output_period: u64,
    /// Most samples of a client.
    pub longest: u64,
    /// The time by which a client may be slower than its sound; `None` without limit. So a client that sends a byte now and
    /// then makes room for others.
    pub patience: Option<Duration>,
    /// Lines begin with the times of their beginning and end, in seconds.
    pub produce_time: bool,
}

/// Events that an operator may want to know of.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// No more samples come.
    StreamOver,
    /// Nothing came for the whole time that was allowed, after so many bytes of a chunk.
    Timeout { bytes: usize },
    /// The client has sent more samples than are allowed.
    TooLong,
    /// The client is slower than its sound by more than is allowed.
    TooSlow,
    /// A word of the graph without a name.
    UnknownWord(i32),
}

/// Users of a conversation: names of words, and what is done with events.
pub trait Host {
    /// Returns the name of a word.
    fn word(&self, id: i32) -> Option<String>;
    /// Hears of an event.
    fn event(&mut self, event: Event);
}

/// Recognizes what a client says, until it has nothing more to say. Lines that it does not take are lost. An error is one of the recognizer.
///
/// # Errors
/// The recogniser fails.
pub fn converse(
    recognizer: &mut Stream,
    client: &mut (impl Read + Write),
    rules: &Conversation,
    host: &mut impl Host,
) -> Result<()> {
    recognizer.begin(Speaker::default())?;
    let mut bytes = vec![0; 2 * rules.chunk.max(1)];
    let (mut samples, mut taken, mut next_output) = (Vec::new(), 0u64, rules.output_period);
    let (mut received, mut waited) = (0u64, Duration::ZERO);
    loop {
        let is_too_long = taken > rules.longest;
        if is_too_long {
            host.event(Event::TooLong);
        }
        let sound = Duration::try_from_secs_f64(received as f64 / f64::from(rules.rate)).ok();
        let most = rules.patience.zip(sound).and_then(|(patience, sound)| patience.checked_add(sound));
        let count = match is_too_long {
            true => 0,
            false => read_chunk(client, &mut bytes, (&mut waited, most), host),
        };
        received += count as u64;
        if count == 0 {
            recognizer.accept_last(rules.rate, &[])?;
            let line = if recognizer.frames_decoded() > 0 {
                ending_line(recognizer, rules, host)?
            } else {
                String::new()
            };
            send(client, &line, '\n');
            return Ok(());
        }
        samples.clear();
        samples.extend(
            bytes[..2 * count].chunks_exact(2).map(|pair| f32::from(i16::from_le_bytes([pair[0], pair[1]]))),
        );
        let state = recognizer.accept(rules.rate, &samples)?;
        // Pieces count as whole chunks, as in the reference.
        taken += rules.chunk as u64;
        if taken > next_output {
            if recognizer.frames_decoded() > 0 {
                let raw = recognizer.raw_lattice()?;
                let best = path::read_linear(&path::best_path(&raw))?;
                let line = line(recognizer, best.ids.len(), &best.words, rules, host);
                send(client, &line, '\r');
            }
            next_output += rules.output_period;
        }
        if let State::Endpoint { .. } = state {
            let line = ending_line(recognizer, rules, host)?;
            send(client, &line, '\n');
            recognizer.begin_segment()?;
        }
    }
}

/// Reads until the buffer is full, or the client pauses, ends, or exceeds the total waiting time. Returns the number of
/// whole samples. An odd byte is lost.
fn read_chunk(
    client: &mut impl Read,
    buffer: &mut [u8],
    (waited, most): (&mut Duration, Option<Duration>),
    host: &mut impl Host,
) -> usize {
    let mut bytes = 0;
    while bytes < buffer.len() {
        if most.is_some_and(|most| *waited > most) {
            host.event(Event::TooSlow);
            return 0;
        }
        let begin = Instant::now();
        let read = client.read(&mut buffer[bytes..]);
        *waited += begin.elapsed();
        match read {
            Ok(0) => {
                host.event(Event::StreamOver);
                break;
            }
            Ok(count) => bytes += count,
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                    host.event(Event::Timeout { bytes });
                    break;
                }
                _ => {
                    host.event(Event::StreamOver);
                    break;
                }
            },
        }
    }
    bytes / 2
}

/// Ends the segment, and returns the line of its best path.
fn ending_line(recognizer: &mut Stream, rules: &Conversation, host: &mut impl Host) -> Result<String> {
    let frames = recognizer.frames_decoded();
    let words = if recognizer.finish()? {
        let raw = recognizer.raw_lattice()?;
        path::read_linear(&path::best_path(&raw))?.words
    } else {
        Vec::new()
    };
    Ok(line(recognizer, frames, &words, rules, host))
}

/// A line of words of the first `frames` output frames of the segment.
fn line(
    recognizer: &Stream,
    frames: usize,
    words: &[i32],
    rules: &Conversation,
    host: &mut impl Host,
) -> String {
    let mut line = String::new();
    if rules.produce_time {
        let begin = recognizer.segment_offset();
        let seconds = |frame: usize| frame as f32 * recognizer.output_frame_length();
        line += &format!("{:.2} {:.2} ", seconds(begin), seconds(begin + frames));
    }
    for (position, &word) in words.iter().enumerate() {
        match host.word(word) {
            Some(name) => line += &name,
            None => {
                host.event(Event::UnknownWord(word));
                line += &format!("<#{position}>");
            }
        }
        line.push(' ');
    }
    line
}

/// Sends a line. A client that has gone away, or does not take it, is noticed when its samples are read.
fn send(client: &mut impl Write, line: &str, end: char) {
    let _gone = client.write_all(format!("{line}{end}").as_bytes());
}
