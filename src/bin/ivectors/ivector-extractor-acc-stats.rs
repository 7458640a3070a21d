//! `ivector-extractor-acc-stats`: collects statistics for training an extractor of i-vectors.

use anyhow::Result;
use kaldi_io::{KaldiWriter, read_object, write_object};
use kaldi_ivector::IvectorExtractor;
use kaldi_ivector::accumulate::{AccumulateOptions, Accumulator, Failure};
use nnet3::messages;
use nnet3::options::threads;
use nnet3_core::c_rand::CRand;

use crate::ivectors::derived::logged;
use crate::ivectors::posteriors;

/// Accumulate stats for iVector extractor training. Reads in features and Gaussian-level posteriors (typically from a full
/// GMM). Results do not depend on the number of threads.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: fgmm-global-gselect-to-post 1.fgmm scp:feats.scp 'ark:gunzip -c gselect.1.gz|' ark:- | \
    ivector-extractor-acc-stats 2.ie scp:feats.scp ark,s,cs:- 2.1.acc\n\
    See also: ivector-extractor-sum-accs, ivector-extractor-est"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// If true, update the Gaussian variances
    #[arg(long, default_value_t = true)]
    update_variances: bool,
    /// If true, compute the auxiliary functions on training data; can be used to debug and check convergence.
    #[arg(long, default_value_t = true)]
    compute_auxf: bool,
    /// Number of samples from iVector distribution to use for accumulating stats for weight update. Must be >1
    #[arg(long, default_value_t = 10)]
    num_samples_for_weights: usize,
    /// Accepted as in Kaldi; has no effect
    #[arg(long, default_value_t = 100)]
    cache_size: i32,
    /// Number of threads
    #[arg(long, default_value_t = 1)]
    num_threads: i32,
    /// Accepted as in Kaldi; has no effect
    #[arg(long, default_value_t = 0)]
    num_threads_total: i32,
    model_in: String,
    feature_rspecifier: String,
    posteriors_rspecifier: String,
    stats_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    KaldiWriter::check(&options.stats_out)?;
    let accumulate = AccumulateOptions {
        update_variances: options.update_variances,
        compute_objective: options.compute_auxf,
        samples_for_weights: options.num_samples_for_weights,
        threads: threads::number("num-threads", options.num_threads.into())?,
    };
    let extractor: IvectorExtractor = read_object(&options.model_in)?;
    let mut accumulator = logged(|| Accumulator::new(extractor, accumulate))?;
    let (mut rand, mut frames, mut failures) = (CRand::default(), 0, 0);
    let mut warn = |failed: Vec<Failure>| {
        failed.iter().for_each(|(key, reason)| messages::warn(&format!("{key}: {reason}")));
        failures += failed.len() as u64;
    };
    let (features, posteriors) = (&options.feature_rspecifier, &options.posteriors_rspecifier);
    let mut counts = posteriors::for_each(features, posteriors, |key, features, posterior| {
        let added = accumulator.add(key, features, posterior, &mut || rand.next());
        Ok(added.map(|failed| {
            frames += features.rows;
            warn(failed);
        }))
    })?;
    let (stats, failed) = accumulator.finish(&mut || rand.next())?;
    warn(failed);
    counts.done -= failures;
    let errors = counts.missing + counts.failed + failures;
    messages::log(&format!("Done {} files, {errors} with errors.  Total frames {frames}", counts.done));
    write_object(&options.stats_out, options.mode.binary, &stats)?;
    messages::log(&format!("Wrote stats to {}", options.stats_out));
    Ok(counts.status())
}
