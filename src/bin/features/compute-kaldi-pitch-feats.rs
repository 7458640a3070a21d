//! `compute-kaldi-pitch-feats`: finds the pitch of sound.

use super::pitch::{PitchTables, for_each_wave};
use anyhow::Result;
use kaldi_cli::Group;
use kaldi_feat::pitch;
use nnet3::options::pitch::PitchArgs;

/// Apply Kaldi pitch extractor, starting from wav input. Output is two-dimensional features consisting of (NCCF, pitch in
/// Hz), where NCCF is between -1 and 1, and higher for voiced frames.
///
/// You will typically pipe this into process-kaldi-pitch-feats.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compute-kaldi-pitch-feats --sample-frequency=8000 scp:wav.scp ark:-\n\
    See also: process-kaldi-pitch-feats, compute-and-process-kaldi-pitch-feats")]
pub struct Options {
    #[command(flatten)]
    pitch: Group<PitchArgs>,
    #[command(flatten)]
    tables: PitchTables,
}

pub fn run(options: Options) -> Result<u8> {
    let pitch = options.pitch.options()?;
    let nothing = ("ComputeKaldiPitch", "No frames output in pitch extraction");
    for_each_wave(&options.tables, &pitch, nothing, |tracker, signal| Ok(pitch::extract(tracker, signal)))
}
