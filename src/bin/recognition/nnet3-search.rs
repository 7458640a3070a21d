//! `nnet3-search`: recordings → places where words or phrases are said.

#![cfg(feature = "sound")]

use std::process::ExitCode;

use anyhow::Result;
use kaldi_cli::Style;
use kaldi_sound::{Channels, SoundOptions};
use nnet3::options::{fraction, threads};

use crate::recognition::searching::{Form, Wanted, search};
use crate::recognition::transcribe::PieceArgs;

/// Find where words or phrases are said in recordings or in lattices that nnet3-transcribe has kept, with a model in a folder of vosk's form.
///
/// The search looks at all that the recogniser thinks possible, not at its text alone: a word may be found where the text has
/// another one. Each place has a probability. Phrases are words with blanks between them. A word that the model has with other
/// capitals alone counts as that one. The formats of recordings are those of nnet3-transcribe.
///
/// A phrase with a word that the vocabulary lacks is left out with a warning. Such a word can be searched by its sounds (--sounds=true): words of the vocabulary that sound like it count,
/// and their difference lowers the probability. Its pronunciation is learned from the lexicon within the model.
///
/// A line has the name of the recording, begin and end, the probability, and the words of the text around [what was found]. If
/// channels are searched one by one, the channel comes before them.
/// The exit status is 1 if nothing was found, and 255 if no phrase or no recording could be searched.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-search model-ko '서울' *.mp3\n      nnet3-search model 'turn on,the light' call.wav --format=json\n      nnet3-transcribe --lattices=kept model *.wav && nnet3-search --lattices=kept model light\nSee also: nnet3-transcribe, kws-search"
)]
pub struct Options {
    /// Form of the places
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
    /// Leave out places whose probability is lower, from 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.1)]
    min_probability: f32,
    /// Words of the text on either side of a place
    #[arg(long, value_name = "N", default_value_t = 5)]
    context: u16,
    /// Longest silence within a phrase, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    max_silence: f32,
    /// Search in the lattices that nnet3-transcribe --lattices has kept in this folder: in all, or in those of the recordings that are
    /// named. The model must be the same
    #[arg(long, value_name = "FOLDER")]
    lattices: Option<String>,
    /// Search for words that the vocabulary lacks by their sounds; otherwise phrases with such words are left out
    #[arg(long)]
    sounds: bool,
    /// The channel of each recording that is searched: first, mix (the mean of all), or its number from 1; with each, all channels
    /// one by one. Without it the first, with a warning if there are others
    #[arg(long, value_parser = str::parse::<Channels>, value_name = "first|each|mix|N")]
    channels: Option<Channels>,
    /// The track of sound of each recording that is searched, from 1. Without it the default one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    track: Option<u16>,
    /// Number of threads that prepare the i-vector extractor at the beginning
    #[arg(long, default_value_t = 2)]
    num_threads_startup: i32,
    #[command(flatten)]
    pieces: PieceArgs,
    /// <model-dir> <phrase>[,<phrase>...] <recording>..., or without <model-dir> with --model or --mdl, or without recordings with --lattices
    #[arg(value_name = "[<model-dir>] <phrases> <recording>...", required = true)]
    arguments: Vec<String>,
}

pub fn main() -> ExitCode {
    kaldi_cli::run_styled(Style::Quiet, run)
}

pub fn run(options: Options) -> Result<u8> {
    fraction::check("min-probability", options.min_probability)?;
    anyhow::ensure!(
        (0.0..=60.0).contains(&options.max_silence),
        "--max-silence={}: expected from 0 to 60 seconds",
        options.max_silence
    );
    let threads = threads::number("num-threads-startup", options.num_threads_startup.into())?;
    let wanted = Wanted {
        form: options.format,
        least: options.min_probability,
        context: options.context.into(),
        silence: options.max_silence,
        lattices: options.lattices,
        sounds: options.sounds,
        channels: options.channels,
        sound: SoundOptions { track: options.track.map(usize::from), raw: None },
    };
    search(&options.pieces, &wanted, threads, options.arguments)
}
