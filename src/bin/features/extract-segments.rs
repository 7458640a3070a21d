//! `extract-segments`: waves of parts of recordings.

use std::collections::HashSet;

use anyhow::{Result, bail};
use kaldi_cli::log::num;
use kaldi_feat::segments::Segment;
use kaldi_feat::wave::{Wave, WaveHolder};
use kaldi_io::{KaldiReader, RandomReader};
use nnet3::messages;
use nnet3::tables::{self, Outcome, Output};

/// Extract segments from a large audio file in WAV format.
///
/// Each line of the segments file is <segment-id> <recording-id> <start-time> <end-time>, e.g. call-861225-A-0050-0065
/// call-861225-A 5.0 6.5. It may have a channel at the end, normally 0 (left) or 1 (right). An end time of -1 means
/// that the segment runs till the end of the recording.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g. extract-segments scp:wav.scp segments ark:- | <some-other-program>\n\
    See also: extract-feature-segments, wav-copy, wav-to-duration")]
pub struct Options {
    /// Minimum segment length in seconds (reject shorter segments)
    #[arg(long, default_value_t = 0.1)]
    min_segment_length: f32,
    /// End segments overshooting audio by less than this (in seconds) are truncated, else rejected.
    #[arg(long, default_value_t = 0.5)]
    max_overshoot: f32,
    wav_rspecifier: String,
    segments_file: String,
    wav_wspecifier: String,
}

/// Returns the part of a wave, or the reason for which there is none.
fn part(options: &Options, segment: &Segment, line: &str, wave: &Wave) -> Result<Outcome<Wave>> {
    let length = wave.duration();
    let seconds = f64::from(length);
    if segment.start > seconds {
        return tables::skip_as(format!(
            "Segment start is out of file data range [0, {}s]; skipping segment '{line}'",
            num(seconds)
        ));
    }
    if segment.end.is_finite() && segment.end > f64::from(length + options.max_overshoot) {
        return tables::skip_as(format!(
            "Segment end is too far out of file data range [0,{}s]; skipping segment '{line}'",
            num(seconds)
        ));
    }
    let end = segment.end.min(seconds);
    if end - segment.start < f64::from(options.min_segment_length) {
        return tables::skip_as(format!("Segment {} too short, skipping it.", segment.name));
    }
    let channel = match segment.channel {
        Some(channel) => usize::from(channel),
        None if wave.channels == 1 => 0,
        None => bail!(
            "{}, segment {}: {} has {} channels, so the segments file must say which one",
            options.segments_file,
            segment.name,
            segment.recording,
            wave.channels
        ),
    };
    if channel >= wave.channels {
        return tables::skip_as(format!(
            "Invalid channel {channel} >= {}. Skipping segment {}",
            wave.channels, segment.name
        ));
    }
    let at = |seconds: f64| (seconds * f64::from(wave.sample_rate) + 0.5) as usize;
    let (first, end) = (at(segment.start), at(end).min(wave.len()));
    let samples = wave.samples.iter().skip(channel).step_by(wave.channels);
    let samples: Vec<i16> = samples.take(end).skip(first).copied().collect();
    if samples.is_empty() {
        return tables::skip_as(format!("Segment {} has no samples, skipping it.", segment.name));
    }
    Ok(Ok(Wave { samples, channels: 1, complaint: None, sample_rate: wave.sample_rate }))
}

pub fn run(options: Options) -> Result<u8> {
    let mut lines = KaldiReader::open_raw(&options.segments_file)?;
    let mut waves = RandomReader::<WaveHolder>::open(&options.wav_rspecifier)?;
    let mut output = Output::<WaveHolder>::open(&options.wav_wspecifier)?;
    let mut count = 0;
    let mut complained = HashSet::new();
    while let Some(line) = lines.read_line()? {
        count += 1;
        let segment = match Segment::parse_open(&line) {
            Ok(segment) => segment,
            Err(reason) => {
                messages::warn(&format!("Invalid line in segments file [{reason}]: {line}"));
                continue;
            }
        };
        let Some(wave) = waves.get(&segment.recording)? else {
            let (recording, name) = (&segment.recording, &segment.name);
            messages::warn(&format!("Could not find recording {recording}, skipping segment {name}"));
            continue;
        };
        if let Some(complaint) =
            wave.complaint.as_ref().filter(|_| complained.insert(segment.recording.clone()))
        {
            messages::warn(&format!("{}: {complaint}", segment.recording));
        }
        match part(&options, &segment, &line, wave)? {
            Ok(part) => output.write(&segment.name, &part)?,
            Err(skip) => messages::warn(&skip.sentence(&segment.name)),
        }
    }
    lines.close()?;
    waves.close()?;
    messages::log(&format!(
        "Successfully processed {} lines out of {count} in the segments file. ",
        output.done
    ));
    output.finish_any()
}
