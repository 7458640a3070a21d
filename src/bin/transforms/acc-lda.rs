//! `acc-lda`: statistics of pdfs of features.

use crate::transforms::lda;
use anyhow::{Context, Result};
use kaldi_cli::NOTHING_DONE;
use kaldi_feat::lda::LdaStats;
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::{MatrixHolder, PosteriorHolder};
use kaldi_io::{Posterior, RandomReader, SparseMatrix, SparseVector, read_object, write_object};
use nnet3::{messages, tables};
use nnet3_core::Random;

/// Accumulate LDA statistics based on pdf-ids.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n ali-to-post ark:1.ali ark:- | acc-lda 1.mdl \"ark:splice-feats scp:train.scp|\" ark:- ldaacc.1\n\
        See also: sum-lda-accs, est-lda, nnet3-acc-lda-stats"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Randomized pruning threshold for posteriors
    #[arg(long, default_value_t = 0.0)]
    rand_prune: f32,
    #[arg(value_name = "<transition-gmm/model>")]
    transition_model: String,
    features_rspecifier: String,
    posteriors_rspecifier: String,
    lda_acc_out: String,
}

/// Posteriors of pdfs as a row of weights a frame.
fn classes(model: &TransitionModel, posterior: &Posterior) -> Result<SparseMatrix> {
    let rows = model.posterior_of_pdfs(posterior)?.into_iter();
    let rows = rows.map(|frame| SparseVector::new(model.num_pdfs(), frame));
    Ok(SparseMatrix { rows: rows.collect::<kaldi_io::Result<_>>()? })
}

pub fn run(options: Options) -> Result<u8> {
    lda::check_rand_prune(options.rand_prune)?;
    let model: TransitionModel = read_object(&options.transition_model)?;
    kaldi_io::KaldiWriter::check(&options.lda_acc_out)?;
    let table = &options.posteriors_rspecifier;
    let mut posteriors = RandomReader::<PosteriorHolder>::open(table)?;
    let random = Random::new(1);
    let mut stats = LdaStats::default();
    let (mut done, mut failed) = (0, 0);
    tables::Input::<MatrixHolder>::open(&options.features_rspecifier)?.for_each(|utterance, features| {
        let mut skip = |reason: String| {
            messages::warn(&reason);
            failed += 1;
            Ok(())
        };
        let Some(posterior) = posteriors.get(utterance)? else {
            return skip(format!("No posteriors for utterance {utterance}"));
        };
        let (rows, cols) = (features.rows, features.cols);
        if rows != posterior.len() {
            return skip(format!(
                "{utterance}: {} frames of posteriors, {rows} of features",
                posterior.len()
            ));
        }
        if let Some(found) = features.not_finite() {
            return skip(format!("{utterance}: {found}"));
        }
        if stats.classes() == 0 {
            stats = LdaStats::new(model.num_pdfs(), cols);
        }
        if cols != stats.dim() {
            return skip(format!("{utterance}: features of dimension {cols}, before it was {}", stats.dim()));
        }
        let classes = classes(&model, posterior).with_context(|| table.clone())?;
        stats.add(&features, &classes.into(), |weight| random.prune(weight, options.rand_prune))?;
        done += 1;
        Ok(())
    })?;
    posteriors.close()?;
    messages::log(&format!("Done {done} files, failed for {failed}"));
    if done == 0 {
        messages::error(&format!("{}: there are no statistics to write", options.lda_acc_out));
        return Ok(NOTHING_DONE);
    }
    write_object(&options.lda_acc_out, options.mode.binary, &stats)?;
    messages::log("Written statistics.");
    Ok(0)
}
