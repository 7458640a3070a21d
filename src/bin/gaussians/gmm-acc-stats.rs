//! `gmm-acc-stats`: collects statistics of posteriors for training Gaussians.

use anyhow::{Context, Result};
use kaldi_gmm::{Accumulator, ModelStats, Parts, pdf_posterior};
use kaldi_io::holder::PosteriorHolder;
use kaldi_io::{KaldiWriter, write_object};
use nnet3::gaussians::{self, LogLikelihood};
use nnet3::messages;

/// Accumulate stats for GMM training (reading in posteriors).
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n gmm-acc-stats 1.mdl scp:train.scp ark:1.post 1.acc\nSee also: gmm-acc-stats-ali, gmm-est"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// GMM parameters that will be updated: subset of mvwt.
    #[arg(long, default_value = "mvwt")]
    update_flags: String,
    model_in: String,
    feature_rspecifier: String,
    posteriors_rspecifier: String,
    stats_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let parts = Parts::parse(&options.update_flags)?;
    let (transitions, model) = gaussians::read_model(&options.model_in)?;
    KaldiWriter::check(&options.stats_out)?;
    let (features, posteriors) = (&options.feature_rspecifier, &options.posteriors_rspecifier);
    let mut stats = ModelStats::new(&transitions, &model, model.dim(), parts);
    let mut accumulator = Accumulator::default();
    let mut done = 0;
    let missing = |key: &str| format!("Could not find posteriors for utterance {key}");
    let counts = gaussians::for_each_with::<PosteriorHolder>(
        features,
        posteriors,
        missing,
        |key, features, posterior| {
            if let Err(reason) = gaussians::check_posteriors(posterior.len(), features) {
                return Ok(Err(reason));
            }
            model.check_features(features)?;
            let pdfs = pdf_posterior(&transitions, posterior).with_context(|| posteriors.clone())?;
            let before = LogLikelihood { sum: stats.log_likelihood, frames: stats.frames };
            for (t, frame) in pdfs.into_iter().enumerate() {
                for entry in frame {
                    accumulator.add(&mut stats, &model, entry, (features.row(t), features.row(t)))?;
                }
                for &(id, weight) in &posterior[t] {
                    stats.add_transition(transitions.transition_id(id)?, weight.into());
                }
            }
            done += 1;
            let (sum, frames) = (stats.log_likelihood - before.sum, stats.frames - before.frames);
            LogLikelihood { sum, frames }.log_every_50th(key, done);
            Ok(Ok(()))
        },
    )?;
    messages::log(&format!("Done {} files, {} with errors.", counts.done, counts.missing + counts.failed));
    LogLikelihood { sum: stats.log_likelihood, frames: stats.frames }.log_overall();
    write_object(&options.stats_out, options.mode.binary, &stats)?;
    messages::log("Written accs.");
    Ok(counts.status())
}
