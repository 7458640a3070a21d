//! `gmm-acc-stats-ali`: collects statistics of alignments for training Gaussians.

use anyhow::{Context, Result};
use kaldi_gmm::{Accumulator, ModelStats, Parts};
use kaldi_io::holder::I32VectorHolder;
use kaldi_io::{KaldiWriter, write_object};
use nnet3::gaussians::{self, LogLikelihood};
use nnet3::{messages, tables};

/// Accumulate stats for GMM training.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n gmm-acc-stats-ali 1.mdl scp:train.scp ark:1.ali 1.acc\nSee also: gmm-acc-stats, gmm-est"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    model_in: String,
    feature_rspecifier: String,
    alignments_rspecifier: String,
    stats_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (transitions, model) = gaussians::read_model(&options.model_in)?;
    KaldiWriter::check(&options.stats_out)?;
    let (features, alignments) = (&options.feature_rspecifier, &options.alignments_rspecifier);
    let mut stats = ModelStats::new(&transitions, &model, model.dim(), Parts::ALL);
    let mut accumulator = Accumulator::default();
    let mut done = 0;
    let missing = |key: &str| format!("No alignment for utterance {key}");
    let counts = gaussians::for_each_with::<I32VectorHolder>(
        features,
        alignments,
        missing,
        |key, features, alignment| {
            if alignment.len() != features.rows {
                return tables::skip_as(format!(
                    "Alignments has wrong size {} vs. {}",
                    alignment.len(),
                    features.rows
                ));
            }
            model.check_features(features)?;
            let ids = transitions.transition_ids(alignment).with_context(|| alignments.clone())?;
            let mut file = LogLikelihood { sum: 0.0, frames: features.rows as f64 };
            for (t, id) in ids.into_iter().enumerate() {
                let (frame, pdf) = (features.row(t), transitions.pdf(id));
                stats.add_transition(id, 1.0);
                file.sum += f64::from(accumulator.add(&mut stats, &model, (pdf, 1.0), (frame, frame))?);
            }
            done += 1;
            file.log_every_50th(key, done);
            Ok(Ok(()))
        },
    )?;
    messages::log(&format!("Done {} files, {} with errors.", counts.done, counts.missing + counts.failed));
    LogLikelihood { sum: stats.log_likelihood, frames: stats.frames }.log_overall();
    write_object(&options.stats_out, options.mode.binary, &stats)?;
    messages::log("Written accs.");
    Ok(counts.status())
}
