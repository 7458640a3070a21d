//! `align-compiled-mapped`: log-likelihoods of pdfs and graphs of transcripts → alignments.

use crate::recognition::aligning::{AlignOptions, AlignedTables, Aligner};
use anyhow::Result;
use kaldi_cli::log::Site;
use kaldi_fst::FstHolder;
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::MatrixHolder;
use kaldi_io::{RandomReader, read_object};
use nnet3::tables::Input;

const SITE: Site = Site::main("align-compiled-mapped.cc", 92);

/// Generate alignments, reading log-likelihoods as matrices (model is needed only for the integer mappings in its
/// transition-model).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: align-compiled-mapped trans.mdl ark:graphs.fsts ark:loglikes.ark ark:ali.ark")]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Write output in binary mode. It has no effect: the wspecifier gives the mode.
    #[arg(long, default_value_t = true)]
    binary: bool,
    #[command(flatten)]
    align: AlignOptions,
    trans_model_in: String,
    graphs_rspecifier: String,
    loglikes_rspecifier: String,
    alignments_wspecifier: String,
    scores_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let model: TransitionModel = read_object(&options.trans_model_in)?;
    let loglikes = Input::<MatrixHolder>::open(&options.loglikes_rspecifier)?;
    let mut graphs = RandomReader::<FstHolder>::open(&options.graphs_rspecifier)?;
    let tables = AlignedTables {
        alignments: &options.alignments_wspecifier,
        scores: options.scores_wspecifier.as_ref(),
        frames: None,
    };
    let mut aligner = Aligner::open(SITE, &options.align, &model, options.acoustic_scale, &tables)?;
    loglikes.for_each(|key, loglikes| {
        let Some(graph) = graphs.get(key)? else {
            aligner.fail(&format!("No fst for utterance {key}"));
            return Ok(());
        };
        if loglikes.rows == 0 {
            aligner.fail(&format!("Empty loglikes matrix utterance: {key}"));
        } else {
            aligner.align(key, graph.clone(), loglikes, options.acoustic_scale)?;
        }
        Ok(())
    })?;
    aligner.finish()
}
