//! `cut-long-recordings`: words that were heard in long recordings, and their transcripts → utterances.

#![cfg(feature = "sound")]

use anyhow::{Result, bail};
use kaldi_aligner::long::recognised::{CutOptions, cut};
use kaldi_io::text::count;
use nnet3::messages;

use crate::corpora::long::WindowOption;

/// Cut long recordings into utterances: the stretches between pauses where what was heard is what the transcript says.
///
/// The folder of work has wav.scp and transcripts of check-long-recordings, lengths (frames of recordings), and ctm: words as
/// numbers, with times within the windows of feats-to-windows. The output folder, which must be there, gets wav.scp, segments,
/// text and utt2spk. Speakers are those of utt2spk in the data folder; without it each recording is a speaker.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: cut-long-recordings --max-seconds=15 data/lectures data/lang/words.txt work data/lectures_cut\nSee also: check-long-recordings, feats-to-windows"
)]
pub struct Options {
    /// Length of utterances in seconds, at most; longer ones are cut at their longest pauses
    #[arg(long, default_value_t = 15.0)]
    max_seconds: f64,
    /// Seconds without words at which an utterance may begin or end
    #[arg(long, default_value_t = 0.15)]
    min_pause: f64,
    /// Words of the transcript one after another that may be heard as others within an utterance
    #[arg(long, default_value_t = 1)]
    max_unmatched: u16,
    #[command(flatten)]
    window: WindowOption,
    #[arg(value_name = "data-dir")]
    data: String,
    #[arg(value_name = "words.txt")]
    words: String,
    #[arg(value_name = "work-dir")]
    work: String,
    #[arg(value_name = "out-dir")]
    to: String,
}

pub fn run(options: Options) -> Result<u8> {
    for (name, value) in [("max-seconds", options.max_seconds), ("min-pause", options.min_pause)] {
        if !(value > 0.0 && value.is_finite()) {
            bail!("--{name}={value}: expected a number above 0");
        }
    }
    let how = CutOptions {
        longest: options.max_seconds,
        pause: options.min_pause,
        unmatched: options.max_unmatched.into(),
        window: options.window.seconds()?,
    };
    let done = cut(&options.data, &options.words, &options.work, &options.to, &how)?;
    messages::log(&format!(
        "{} of {:.0} s, with {} of {} words of the transcripts",
        count(done.utterances, "utterance"),
        done.seconds,
        done.kept,
        done.words
    ));
    Ok(0)
}
