//! `gmm-acc-stats2`: collects statistics of positive and of negative posteriors, for discriminative training.

use anyhow::{Context, Result};
use kaldi_cli::log::{num, ratio};
use kaldi_gmm::{Accumulator, ModelStats, Parts};
use kaldi_io::holder::PosteriorHolder;
use kaldi_io::{KaldiWriter, write_object};
use nnet3::gaussians::{self, LogLikelihood};
use nnet3::messages;

/// Accumulate stats for GMM training (from posteriors). This version writes two accumulators (e.g. num and den), and
/// puts the positive accumulators in num, negative in den.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n gmm-acc-stats2 1.mdl \"ark:feats\" ark:1.post 1.num_acc 1.den_acc")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// GMM parameters that will be updated: subset of mvwt.
    #[arg(long, default_value = "mvwt")]
    update_flags: String,
    model: String,
    feature_rspecifier: String,
    posteriors_rspecifier: String,
    num_stats_out: String,
    den_stats_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let parts = Parts::parse(&options.update_flags)?;
    let (transitions, model) = gaussians::read_model(&options.model)?;
    for file in [&options.num_stats_out, &options.den_stats_out] {
        KaldiWriter::check(file)?;
    }
    let mut stats = [(); 2].map(|()| ModelStats::new(&transitions, &model, model.dim(), parts));
    let mut accumulator = Accumulator::default();
    let (mut total, mut weights) = (LogLikelihood::default(), 0.0);
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
            for (t, entries) in posterior.iter().enumerate() {
                for &(id, weight) in entries {
                    let id = transitions.transition_id(id).with_context(|| posteriors.clone())?;
                    let stats = &mut stats[usize::from(weight <= 0.0)];
                    let (frame, entry) = (features.row(t), (transitions.pdf(id), weight.abs()));
                    stats.add_transition(id, weight.abs().into());
                    let log_likelihood = accumulator.add(stats, &model, entry, (frame, frame))?;
                    total.sum += f64::from(log_likelihood) * f64::from(weight);
                    weights += f64::from(weight);
                }
            }
            total.frames += features.rows as f64;
            Ok(Ok(()))
        },
    )?;
    messages::log(&format!("Done {} files, {} had errors.", counts.done, counts.missing + counts.failed));
    messages::log(&format!(
        "Overall weighted acoustic likelihood per frame was {} over {} frames; average weight per frame was {}",
        total.average(),
        num(total.frames),
        ratio(weights, total.frames)
    ));
    write_object(&options.num_stats_out, options.mode.binary, &stats[0])?;
    write_object(&options.den_stats_out, options.mode.binary, &stats[1])?;
    messages::log("Written accs.");
    Ok(counts.status())
}
