//! `compute-and-process-kaldi-pitch-feats`: finds the pitch of sound and makes features of it.

use super::pitch::{PitchTables, for_each_wave, noise};
use anyhow::Result;
use kaldi_cli::Group;
use kaldi_feat::pitch;
use nnet3::options::pitch::OnlinePitchArgs;

/// Apply Kaldi pitch extractor and pitch post-processor, starting from wav input. Equivalent to compute-kaldi-pitch-feats
/// | process-kaldi-pitch-feats, except that it is able to simulate online pitch extraction; see options like
/// --frames-per-chunk, --simulate-first-pass-online, --recompute-frame.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compute-and-process-kaldi-pitch-feats --simulate-first-pass-online=true \
    --frames-per-chunk=10 --sample-frequency=8000 scp:wav.scp ark:-\n\
    See also: compute-kaldi-pitch-feats, process-kaldi-pitch-feats")]
pub struct Options {
    #[command(flatten)]
    pitch: Group<OnlinePitchArgs>,
    #[command(flatten)]
    tables: PitchTables,
}

pub fn run(options: Options) -> Result<u8> {
    let (pitch, process) = (options.pitch.pitch.options()?, options.pitch.process.options()?);
    let nothing = ("ComputeAndProcessKaldiPitch", "No features output since wave file too short");
    let mut noise = noise(1);
    for_each_wave(&options.tables, &pitch, nothing, |tracker, signal| {
        pitch::extract_and_process(tracker, &process, &mut noise, signal)
    })
}
