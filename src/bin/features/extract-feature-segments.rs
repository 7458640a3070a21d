//! `extract-feature-segments`: features of parts of recordings.

use anyhow::Result;
use kaldi_cli::FAILED;
use kaldi_feat::segments::{Segment, SegmentOptions};
use kaldi_io::holder::MatrixHolder;
use kaldi_io::{KaldiReader, RandomReader};
use nnet3::messages;
use nnet3::tables::Output;

/// Create feature files by segmenting input files.
///
/// The segments file has lines like: output-utterance-id input-utterance-or-spk-id 1.10 2.36. Ranges in scp files can do
/// the same.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: extract-feature-segments scp:feats.scp segments ark:-")]
pub struct Options {
    /// Minimum segment length in seconds (reject shorter segments)
    #[arg(long, default_value_t = 0.1)]
    min_segment_length: f32,
    /// Frame length in milliseconds
    #[arg(long, default_value_t = 25)]
    frame_length: i32,
    /// Frame shift in milliseconds
    #[arg(long, default_value_t = 10)]
    frame_shift: i32,
    /// End segments overshooting by less (in seconds) are truncated, else rejected.
    #[arg(long, default_value_t = 0.0)]
    max_overshoot: f32,
    /// If true, ceil((frame_length - frame_shift) / frame_shift) frames will be snipped from the end of each segment.
    /// Then it has the same number of frames as features of audio that was segmented first.
    #[arg(long, default_value_t = true)]
    snip_edges: bool,
    feats_rspecifier: String,
    segments_file: String,
    feats_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let segment_options = SegmentOptions {
        min_length: options.min_segment_length,
        frame_length: options.frame_length,
        frame_shift: options.frame_shift,
        max_overshoot: options.max_overshoot,
        snip_edges: options.snip_edges,
    };
    segment_options.check()?;
    let mut lines = KaldiReader::open_raw(&options.segments_file)?;
    let mut table = RandomReader::<MatrixHolder>::open(&options.feats_rspecifier)?;
    let mut output = Output::<MatrixHolder>::open(&options.feats_wspecifier)?;
    let mut count = 0;
    while let Some(line) = lines.read_line()? {
        count += 1;
        let segment = match Segment::parse(&line) {
            Ok(segment) => segment,
            Err(reason) => {
                output.skip(&options.segments_file, format!("invalid line [{reason}]: {line}"));
                continue;
            }
        };
        let Some(features) = table.get(&segment.recording)? else {
            let (recording, name, table) = (&segment.recording, &segment.name, &options.feats_rspecifier);
            output.skip_as(&format!(
                "Did not find features for utterance {recording}, skipping segment {name} ({table})"
            ));
            continue;
        };
        match segment_options.range(&segment, features.rows) {
            Ok(range) => {
                let part = features.block(range.start, range.len(), 0, features.cols);
                output.write(&segment.name, &part)?;
            }
            Err(reason) => {
                let name = &segment.name;
                output.skip_as(&format!("{reason}, skipping segment {name}"));
            }
        }
    }
    lines.close()?;
    table.close()?;
    messages::log(&format!(
        "Successfully processed {} lines out of {count} in the segments file.",
        output.done
    ));
    output.finish_or(FAILED)
}
