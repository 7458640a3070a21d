//! `compile-train-graphs-fsts`: grammars of utterances → graphs.

use crate::graphs::training_graphs::{Files, TrainingGraphOptions, compile_table};
use anyhow::Result;
use kaldi_fst::FstHolder;
use nnet3::messages;

/// Creates training graphs (without transition-probabilities, by default).
///
/// This version takes FSTs as inputs (e.g., representing a separate weighted grammar for each utterance). Note: the
/// lexicon should contain disambiguation symbols and you should supply the --read-disambig-syms option which is the
/// filename of a list of disambiguation symbols. Warning: you probably want to set the --transition-scale and
/// --self-loop-scale options; the defaults (zero) are probably not appropriate.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: compile-train-graphs-fsts --read-disambig-syms=disambig.list tree 1.mdl lex.fst \
    ark:train.fsts ark:graphs.fsts"
)]
pub struct Options {
    #[command(flatten)]
    graphs: TrainingGraphOptions,
    tree_in: String,
    model_in: String,
    lexicon_fst_in: String,
    graphs_rspecifier: String,
    graphs_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    if options.graphs.read_disambig_syms.is_empty() {
        messages::warn(
            "You supplied no disambiguation symbols; note, these are typically necessary when compiling graphs from \
             FSTs (i.e. supply L_disambig.fst and the list of disambig syms with\n--read-disambig-syms)",
        );
    }
    let files = Files {
        tree: &options.tree_in,
        model: &options.model_in,
        lexicon: &options.lexicon_fst_in,
        from: &options.graphs_rspecifier,
        to: &options.graphs_wspecifier,
    };
    compile_table::<FstHolder>(&options.graphs, &files, |compiler, grammar| compiler.compile(grammar))?;
    Ok(0)
}
