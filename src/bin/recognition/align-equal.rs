//! `align-equal`: aligns features with transcripts, spreading frames equally; makes the graphs itself.

use anyhow::Result;
use kaldi_graph::training::TrainingGraphs;
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::{I32VectorHolder, MatrixHolder};
use kaldi_io::{RandomReader, read_object};
use nnet3::tables::Input;

use crate::recognition::equal_alignment::{EqualAligner, GraphFiles};

/// Write equally spaced alignments of utterances (to get training started)
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.:\n align-equal 1.tree 1.mdl lex.fst scp:train.scp 'ark:sym2int.pl -f 2- words.txt text|' ark:equal.ali\n\
    See also: align-equal-compiled"
)]
pub struct Options {
    /// File containing list of disambiguation symbols in phone symbol table
    #[arg(long, default_value = "")]
    read_disambig_syms: String,
    tree_in: String,
    model_in: String,
    lexicon_fst_in: String,
    features_rspecifier: String,
    transcriptions_rspecifier: String,
    alignments_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let model: TransitionModel = read_object(&options.model_in)?;
    let files = GraphFiles::read(&options.tree_in, &options.lexicon_fst_in, &options.read_disambig_syms)?;
    let compiler = files.compiler(
        &model,
        TrainingGraphs { transition_scale: 0.0, self_loop_scale: 0.0, reorder: true, remove_epsilons: false },
    )?;
    let mut transcripts = RandomReader::<I32VectorHolder>::open(&options.transcriptions_rspecifier)?;
    let mut aligner = EqualAligner::open(&options.alignments_wspecifier)?;
    Input::<MatrixHolder>::open(&options.features_rspecifier)?.for_each(|key, features| {
        let Some(words) = transcripts.get(key)? else {
            aligner.lacks(&format!("No transcript for utterance {key}"));
            return Ok(());
        };
        match compiler.compile_words(words) {
            Ok(graph) => aligner.align(key, &graph, features.rows),
            Err(error) => {
                aligner.fail(&format!("Problem creating decoding graph for utterance {key}: {error}"));
                Ok(())
            }
        }
    })?;
    transcripts.close()?;
    aligner.finish("transcripts")
}
