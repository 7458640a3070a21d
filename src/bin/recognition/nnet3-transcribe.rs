//! `nnet3-transcribe`: recordings → text, with a model folder as published ones are.

#![cfg(feature = "sound")]

use crate::recognition::elsewhere::OF_TRANSCRIBERS;
use crate::recognition::transcribe::{
    Arguments, Format, PieceArgs, SpeakerArgs, Texts, Threads, WordArgs, forms, transcribe,
};
use std::process::ExitCode;

use anyhow::Result;
use kaldi_cli::Style;
use kaldi_sound::{Channels, RawForm, SoundOptions};
use nnet3::options::threads;

/// Write the words spoken in recordings, with a model in a folder of vosk's form.
///
/// Recordings may be waves with any kind of samples, FLAC, MP3, Ogg Vorbis, AAC, ALAC, CAF, AIFF, and the sound of MP4,
/// Matroska and WebM files. Other formats, such as Opus, are decoded by the program ffmpeg if it is installed.
///
/// The folder has am/final.mdl, conf/model.conf, and conf/mfcc.conf, conf/fbank.conf or conf/plp.conf. The graph is
/// graph/HCLG.fst, or graph/HCLr.fst with graph/Gr.fst and graph/disambig_tid.int. Depending on the model, there are
/// also conf/pitch.conf (pitch), graph/words.txt (a graph without names of words) and ivector/ (i-vectors). The folder
/// may have the older form: final.mdl, mfcc.conf and the files of graph/ side by side, and ivector/. If it has
/// am/global_cmvn.stats, the mean of these statistics is subtracted from features. If it has conf/online_cmvn.conf too,
/// a running mean that begins with this mean is subtracted.
///
/// The name of a text is the name of its file without folders and suffix. If several files have the same name, the
/// names of their folders are added. In text, CTM and RTTM, blanks in names become _. Options may stand behind recordings;
/// -- ends them.
///
/// With graph/phones/word_boundary.int, words have exact times. It needs a line for each phone of the model. Every word
/// of the graph needs a name. This is checked before the recognition; for graphs of type const of more than 256 MB it
/// is checked when the word is recognised.
///
/// Many models write <unk> or [unk] for a sound that is no word of their vocabulary: --unknown= leaves it out, --unknown=WORD writes
/// another word.
///
/// SIGINT (Ctrl-C), SIGTERM or SIGHUP stops the recognition, and what was recognised so far is written. A file that lacks a part of its
/// text gets the ending .incomplete behind its name. A second signal ends the program at once.
///
/// A file may be - (standard input) or a command that ends with |. They are read live. As soon as a sentence ends, text
/// has a line for it, and JSON an object. A terminal shows the words recognised so far. For files, it shows how much is done;
/// without a terminal, a line says so every ten seconds. In digital silence there are no words.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-transcribe model-ko a.wav b.wav --format=json\n      nnet3-transcribe model-ko film.mp4 -o film.srt\n      nnet3-transcribe --format=txt,srt,json --output-dir=texts model-ko *.wav\n      arecord -t raw -f S16_LE -r 16000 | nnet3-transcribe --raw=s16le,16000 model-ko -\n      nnet3-transcribe --speakers=model-spk model-ko meeting.wav"
)]
pub struct Options {
    /// Forms of the text, with commas between several. Without it the form that the ending of --output names, or text
    #[arg(long, value_parser = forms(), value_delimiter = ',', value_name = "FORMATS")]
    format: Vec<Format>,
    /// Write the text to this file. With several forms, each one goes to a file with its own ending
    #[arg(long, short = 'o', value_name = "FILE", default_value = "", hide_default_value = true)]
    output: String,
    /// Write the text of each file to a separate file in this folder: NAME.txt, NAME.json and so on
    #[arg(long, value_name = "FOLDER")]
    output_dir: Option<String>,
    /// Write each sentence to standard output when it ends, not the whole text of a recording at its end (forms text, json, ctm, csv, tsv
    /// and rttm). Text has a line, and JSON an object, for each sentence
    #[arg(long, default_value_t = false)]
    as_it_comes: bool,
    /// Keep the lattices of each recording, with all that the recogniser thinks possible, in this folder: NAME.lat, an archive with
    /// a lattice for each sentence, for nnet3-search
    #[arg(long, value_name = "FOLDER")]
    lattices: Option<String>,
    /// If true, plain text has a line for each sentence with its begin and end
    #[arg(long, default_value_t = false)]
    times: bool,
    /// The recordings are samples without a header: coding (s16le, s16be, s24le, s32le, f32le, f64le, u8, alaw, mulaw), rate in
    /// Hz, and number of channels unless it is one
    #[arg(long, value_name = "CODING,RATE[,CHANNELS]")]
    raw: Option<RawForm>,
    /// The channel of each recording that is transcribed: first, mix (the mean of all), or its number from 1. With each, the
    /// sentences of all channels come in the order of time, with the channel of each. Without it the first, with a warning
    /// if there are others. A silent channel beside another one is a warning
    #[arg(long, value_parser = str::parse::<Channels>, value_name = "first|each|mix|N")]
    channels: Option<Channels>,
    /// The track of sound of each recording that is transcribed, from 1. Without it the default one, as in players, with a
    /// warning if there are others
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    track: Option<u16>,
    /// Number of threads that prepare the i-vector extractor at the beginning
    #[arg(long, default_value_t = 2)]
    num_threads_startup: i32,
    /// Number of files that are processed at once. Texts are in the order of the files. The sentences of live sound are
    /// written one by one only if this is 1
    #[arg(long, default_value_t = 1)]
    num_threads: i32,
    #[command(flatten)]
    pieces: PieceArgs,
    #[command(flatten)]
    words: WordArgs,
    #[command(flatten)]
    speakers: SpeakerArgs,
    /// <model-dir> <recording>..., or <recording>... with --model or --mdl
    #[arg(value_name = "[<model-dir>] <recording>...", required = true)]
    paths: Vec<String>,
}

pub fn main() -> ExitCode {
    kaldi_cli::run_advised(Style::Quiet, OF_TRANSCRIBERS, run)
}

pub fn run(options: Options) -> Result<u8> {
    let threads = Threads {
        at_startup: threads::number("num-threads-startup", options.num_threads_startup.into())?,
        files: threads::number("num-threads", options.num_threads.into())?,
    };
    let Options { pieces, words, speakers, channels, times, as_it_comes, lattices, .. } = options;
    let texts = Texts { formats: options.format, file: options.output, folder: options.output_dir };
    let sound = SoundOptions { track: options.track.map(usize::from), raw: options.raw };
    transcribe(
        &Arguments { pieces, words, speakers, channels, sound, texts, lattices, times, as_it_comes, threads },
        options.paths,
    )
}
