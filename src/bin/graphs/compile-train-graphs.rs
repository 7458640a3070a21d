//! `compile-train-graphs`: transcripts → graphs.

use crate::graphs::training_graphs::{Files, TrainingGraphOptions, compile_table};
use anyhow::Result;
use kaldi_cli::NOTHING_DONE;
use kaldi_io::holder::I32VectorHolder;

/// Creates training graphs (without transition-probabilities, by default).
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: compile-train-graphs tree 1.mdl lex.fst 'ark:sym2int.pl -f 2- words.txt text|' ark:graphs.fsts"
)]
pub struct Options {
    #[command(flatten)]
    graphs: TrainingGraphOptions,
    tree_in: String,
    model_in: String,
    lexicon_fst_in: String,
    transcriptions_rspecifier: String,
    graphs_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let files = Files {
        tree: &options.tree_in,
        model: &options.model_in,
        lexicon: &options.lexicon_fst_in,
        from: &options.transcriptions_rspecifier,
        to: &options.graphs_wspecifier,
    };
    let done = compile_table::<I32VectorHolder>(&options.graphs, &files, |compiler, words| {
        compiler.compile_words(words)
    })?;
    Ok(if done > 0 { 0 } else { NOTHING_DONE })
}
