//! `gmm-align-compiled`: aligns features with graphs of transcripts by a Gaussian model.

use anyhow::{Context, Result};
use kaldi_cli::log::Site;
use nnet3::utterances::{Utterance, Utterances};
use nnet3::{gaussians, messages};

use crate::recognition::aligning::{AlignOptions, AlignedTables, Aligner};
use crate::recognition::gaussians::GaussianDecodable;

const SITE: Site = Site::main("gmm-align-compiled.cc", 127);

/// Align features given GMM-based models.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.:\n gmm-align-compiled 1.mdl ark:graphs.fsts scp:train.scp ark:1.ali\nor:\n compile-train-graphs tree \
    1.mdl lex.fst 'ark:sym2int.pl -f 2- words.txt text|' ark:- | gmm-align-compiled 1.mdl ark:- scp:train.scp t, ark:1.ali"
)]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Wspecifier for table of vectors containing the acoustic log-likelihoods per frame for each utterance.
    #[arg(long, default_value = "")]
    write_per_frame_acoustic_loglikes: String,
    #[command(flatten)]
    align: AlignOptions,
    model_in: String,
    graphs_rspecifier: String,
    feature_rspecifier: String,
    alignments_wspecifier: String,
    scores_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let scale = options.acoustic_scale;
    let (transitions, model) = gaussians::read_model(&options.model_in)?;
    let tables = AlignedTables {
        alignments: &options.alignments_wspecifier,
        scores: options.scores_wspecifier.as_ref(),
        frames: Some(&options.write_per_frame_acoustic_loglikes).filter(|name| !name.is_empty()),
    };
    let mut aligner = Aligner::open(SITE, &options.align, &transitions, scale, &tables)?;
    let missing = |key: &str| format!("No features for utterance {key}");
    let (graphs, features) = (&options.graphs_rspecifier, &options.feature_rspecifier);
    let mut utterances = Utterances::of_graphs(graphs, features, missing)?;
    while let Some(Utterance { key, graph, features }) = utterances.read()? {
        messages::log(&key);
        match (features, graph) {
            (Ok(features), _) if features.rows == 0 => aligner.fail(&format!("Zero-length utterance: {key}")),
            (Ok(features), Some(graph)) => {
                let decodable = GaussianDecodable::new(&model, &features, transitions.pdfs(), scale);
                match decodable.with_context(|| format!("utterance {key}"))? {
                    Ok(decodable) => aligner.align_with(&key, graph, &decodable)?,
                    Err(skip) => aligner.fail(&skip.sentence(&key)),
                }
            }
            (Err(skip), _) => aligner.fail(&skip.sentence(&key)),
            (_, None) => aligner.fail(&format!("No graph for utterance {key}")),
        }
    }
    utterances.close()?;
    aligner.finish()
}
