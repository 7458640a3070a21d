//! `gmm-acc-stats-twofeats`: collects statistics of features, with posteriors from other features.

use anyhow::{Context, Result};
use kaldi_gmm::{Accumulator, ModelStats, Parts, pdf_posterior};
use kaldi_io::holder::{MatrixHolder, PosteriorHolder};
use kaldi_io::{KaldiWriter, RandomReader, write_object};
use nnet3::gaussians::{self, LogLikelihood};
use nnet3::{messages, tables};

/// Accumulate stats for GMM training, computing posteriors with one set of features but accumulating statistics with
/// another. First features are used to get posteriors, second to accumulate stats
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n gmm-acc-stats-twofeats 1.mdl 1.ali scp:train.scp scp:train_new.scp ark:1.ali 1.acc"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    model_in: String,
    feature1_rspecifier: String,
    feature2_rspecifier: String,
    posteriors_rspecifier: String,
    stats_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (transitions, model) = gaussians::read_model(&options.model_in)?;
    KaldiWriter::check(&options.stats_out)?;
    let (features, posteriors) = (&options.feature1_rspecifier, &options.posteriors_rspecifier);
    let mut second = RandomReader::<MatrixHolder>::open(&options.feature2_rspecifier)?;
    let mut stats: Option<ModelStats> = None;
    let mut accumulator = Accumulator::default();
    let (mut done, mut no_second) = (0, 0);
    let missing = |key: &str| format!("No posteriors for utterance {key}");
    let counts = gaussians::for_each_with::<PosteriorHolder>(
        features,
        posteriors,
        missing,
        |key, features, posterior| {
            let Some(added) = second.get(key)? else {
                no_second += 1;
                return tables::skip_as(format!("No second features for utterance {key}"));
            };
            if added.rows != features.rows {
                return tables::skip_as(format!(
                    "Features have different lengths {} vs. {}",
                    features.rows, added.rows
                ));
            }
            if let Err(reason) = gaussians::check_posteriors(posterior.len(), features) {
                return Ok(Err(reason));
            }
            model.check_features(features)?;
            let dim = if added.rows == 0 { model.dim() } else { added.cols };
            let stats = stats.get_or_insert_with(|| ModelStats::new(&transitions, &model, dim, Parts::ALL));
            let expected = stats.pdfs[0].dim();
            if dim != expected {
                return tables::skip(format!("second features of dimension {dim}, before it was {expected}"));
            }
            let before = LogLikelihood { sum: stats.log_likelihood, frames: stats.frames };
            let pdfs = pdf_posterior(&transitions, posterior).with_context(|| posteriors.clone())?;
            for (t, frame) in pdfs.into_iter().enumerate() {
                for entry in frame {
                    accumulator.add(stats, &model, entry, (features.row(t), added.row(t)))?;
                }
                for &(id, weight) in &posterior[t] {
                    stats.add_transition(transitions.transition_id(id)?, weight.into());
                }
            }
            done += 1;
            let all = LogLikelihood { sum: stats.log_likelihood, frames: stats.frames };
            LogLikelihood { sum: all.sum - before.sum, frames: all.frames - before.frames }
                .log_file(&all, done);
            Ok(Ok(()))
        },
    )?;
    second.close()?;
    messages::log(&format!(
        "Done {} files, {} with no posteriors, {no_second} with no second features, {} with other errors.",
        counts.done,
        counts.missing,
        counts.failed - no_second
    ));
    let stats = stats.unwrap_or_else(|| ModelStats::new(&transitions, &model, model.dim(), Parts::ALL));
    LogLikelihood { sum: stats.log_likelihood, frames: stats.frames }.log_overall();
    write_object(&options.stats_out, options.mode.binary, &stats)?;
    messages::log("Written accs.");
    Ok(counts.status())
}
