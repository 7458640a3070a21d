//! `gmm-acc-mllt`: collects statistics for a maximum-likelihood linear transform.

use anyhow::{Context, Result};
use kaldi_gmm::mllt::MlltStats;
use kaldi_gmm::{Accumulator, pdf_posterior};
use kaldi_io::holder::PosteriorHolder;
use kaldi_io::{KaldiWriter, write_object};
use nnet3::gaussians::{self, LogLikelihood};
use nnet3::messages;
use nnet3_core::c_rand::CRand;

use crate::transforms::lda::check_rand_prune;

/// Accumulate MLLT (global STC) statistics.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n gmm-acc-mllt 1.mdl scp:train.scp ark:1.post 1.macc\nSee also: est-mllt")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Randomized pruning parameter to speed up accumulation (larger -> more pruning. May exceed one).
    #[arg(long, default_value_t = 0.25)]
    rand_prune: f32,
    model_in: String,
    feature_rspecifier: String,
    posteriors_rspecifier: String,
    stats_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    check_rand_prune(options.rand_prune)?;
    let (transitions, model) = gaussians::read_model(&options.model_in)?;
    KaldiWriter::check(&options.stats_out)?;
    let (mut stats, mut rand) = (MlltStats::new(model.dim()), CRand::default());
    let (mut accumulator, mut all, mut done) = (Accumulator::default(), LogLikelihood::default(), 0);
    let (features, posteriors) = (&options.feature_rspecifier, &options.posteriors_rspecifier);
    let missing = |key: &str| format!("No posteriors for utterance {key}");
    let counts = gaussians::for_each_with::<PosteriorHolder>(
        features,
        posteriors,
        missing,
        |_, features, posterior| {
            if let Err(reason) = gaussians::check_posteriors(posterior.len(), features) {
                return Ok(Err(reason));
            }
            model.check_features(features)?;
            let pdfs = pdf_posterior(&transitions, posterior).with_context(|| posteriors.clone())?;
            let mut file = LogLikelihood::default();
            for (t, frame) in pdfs.iter().enumerate() {
                for &(pdf, weight) in frame {
                    let gmm = model.pdf(pdf)?;
                    let (weights, log_likelihood) = accumulator.posteriors(gmm, features.row(t), weight)?;
                    stats.add(gmm, features.row(t), weights, options.rand_prune, &mut || rand.next());
                    let (sum, frames) = (f64::from(log_likelihood) * f64::from(weight), weight.into());
                    file.add(LogLikelihood { sum, frames });
                }
            }
            all.add(file);
            done += 1;
            file.log_file(&all, done);
            Ok(Ok(()))
        },
    )?;
    messages::log(&format!(
        "Done {} files, {} with no posteriors, {} with other errors.",
        counts.done, counts.missing, counts.failed
    ));
    all.log_overall();
    write_object(&options.stats_out, options.mode.binary, &stats)?;
    messages::log("Written accs.");
    Ok(counts.status())
}
