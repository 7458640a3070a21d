//! `nnet3-transcribe`: wave files → text, with a model folder as published ones are.

use crate::recognition::transcribe::{Format, PieceArgs, Texts, Threads, transcribe};
use anyhow::Result;
use nnet3::options::threads;

/// Write the words spoken in wave files, with the model in a folder as vosk has it.
///
/// The folder has am/final.mdl, conf/mfcc.conf (or conf/fbank.conf or conf/plp.conf), conf/pitch.conf if the network
/// wants pitch, conf/model.conf, graph/HCLG.fst (or graph/HCLr.fst, graph/Gr.fst and graph/disambig_tid.int),
/// graph/words.txt if the graph has no names, and ivector/ if the network wants i-vectors. Or it has the older form:
/// final.mdl, mfcc.conf and the files of graph/ side by side, and ivector/. With am/global_cmvn.stats, its mean is
/// subtracted from features; with conf/online_cmvn.conf too, a running mean that begins with it.
///
/// The name of a text is the name of its file without folders and suffix. Files of the same name get their folders,
/// too; in text and CTM, blanks in names become _.
///
/// With graph/phones/word_boundary.int, words have exact times. It needs a line for each phone of the model. Every word
/// of the graph needs a name. This is checked before the recognition; for graphs of type const of more than 256 MB it
/// is checked when the word is recognised.
///
/// A file may be - (standard input) or a command that ends with |, which are read live: text has a line for each
/// sentence then, and a terminal shows the words recognised so far.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-transcribe --format=json model-ko a.wav b.wav\n      nnet3-transcribe --format=srt --output-dir=subtitles model-ko *.wav\n      arecord -f S16_LE -r 16000 | nnet3-transcribe model-ko -"
)]
pub struct Options {
    /// Format of the text
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the text of each file into a file of its own in this folder: NAME.txt, .json, .srt, .vtt or .ctm
    #[arg(long, value_name = "FOLDER")]
    output_dir: Option<String>,
    /// Number of threads that work out what i-vectors need, at the beginning
    #[arg(long, default_value_t = 2)]
    num_threads_startup: i32,
    /// Number of files that are worked on at once. Texts are in the order of the files; live sound has its sentences one by
    /// one with one thread only.
    #[arg(long, default_value_t = 1)]
    num_threads: i32,
    #[command(flatten)]
    pieces: PieceArgs,
    /// <model-dir> <wav>..., or <wav>... with --mdl
    #[arg(value_name = "[<model-dir>] <wav>...", required = true)]
    paths: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let threads = Threads {
        at_startup: threads::number("num-threads-startup", options.num_threads_startup.into())?,
        files: threads::number("num-threads", options.num_threads.into())?,
    };
    let texts = Texts { format: options.format, folder: options.output_dir };
    transcribe(&options.pieces, &texts, options.paths, threads)
}
