//! `gmm-align`: aligns features with transcripts by a Gaussian model; makes the graphs itself.

use anyhow::{Context, Result};
use kaldi_cli::log::Site;
use kaldi_graph::training::TrainingGraphs;
use kaldi_io::RandomReader;
use kaldi_io::holder::{I32VectorHolder, MatrixHolder};
use nnet3::gaussians;
use nnet3::tables::Input;

use crate::recognition::aligning::{AlignOptions, AlignedTables, Aligner};
use crate::recognition::equal_alignment::GraphFiles;
use crate::recognition::gaussians::GaussianDecodable;

const SITE: Site = Site::main("gmm-align.cc", 140);

/// Align features given \[GMM-based\] models.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.:\n gmm-align tree 1.mdl lex.fst scp:train.scp 'ark:sym2int.pl -f 2- words.txt text|' ark:1.ali\n\
    See also: compile-train-graphs, gmm-align-compiled"
)]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// File containing list of disambiguation symbols in phone symbol table
    #[arg(long, default_value = "")]
    read_disambig_syms: String,
    /// Reorder transition ids for greater decoding efficiency.
    #[arg(long, default_value_t = true)]
    reorder: bool,
    /// Remove [most] epsilons before minimization (only applicable if disambig symbols present)
    #[arg(long, default_value_t = false)]
    rm_eps: bool,
    #[command(flatten)]
    align: AlignOptions,
    tree_in: String,
    model_in: String,
    lexicon_fst_in: String,
    feature_rspecifier: String,
    transcriptions_rspecifier: String,
    alignments_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let scale = options.acoustic_scale;
    let (transitions, model) = gaussians::read_model(&options.model_in)?;
    let files = GraphFiles::read(&options.tree_in, &options.lexicon_fst_in, &options.read_disambig_syms)?;
    let compiler = files.compiler(
        &transitions,
        TrainingGraphs {
            transition_scale: options.align.transition_scale,
            self_loop_scale: options.align.self_loop_scale,
            reorder: options.reorder,
            remove_epsilons: options.rm_eps,
        },
    )?;
    // The graphs have the costs of transitions already.
    let align = AlignOptions { transition_scale: 0.0, self_loop_scale: 0.0, ..options.align.clone() };
    let tables = AlignedTables { alignments: &options.alignments_wspecifier, scores: None, frames: None };
    let mut aligner = Aligner::open(SITE, &align, &transitions, scale, &tables)?;
    let mut transcripts = RandomReader::<I32VectorHolder>::open(&options.transcriptions_rspecifier)?;
    Input::<MatrixHolder>::open(&options.feature_rspecifier)?.for_each(|key, features| {
        let Some(words) = transcripts.get(key)? else {
            aligner.fail(&format!("No transcript found for utterance {key}"));
            return Ok(());
        };
        if features.rows == 0 {
            aligner.fail(&format!("Zero-length utterance: {key}"));
            return Ok(());
        }
        let graph = match compiler.compile_words(words) {
            Ok(graph) => graph,
            Err(error) => {
                let problem = format!("Problem creating decoding graph for utterance {key} [serious error]");
                aligner.fail(&format!("{problem}: {error}"));
                return Ok(());
            }
        };
        let decodable = GaussianDecodable::new(&model, &features, transitions.pdfs(), scale);
        match decodable.with_context(|| format!("utterance {key}"))? {
            Ok(decodable) => aligner.align_with(key, graph, &decodable),
            Err(skip) => {
                aligner.fail(&skip.sentence(key));
                Ok(())
            }
        }
    })?;
    transcripts.close()?;
    aligner.finish()
}
