//! `fgmm-global-acc-stats-post`: collects statistics for full covariances by given posteriors.

use crate::background::statistics::finish;
use crate::background::utterances::frame_weights;
use anyhow::{Result, bail};
use kaldi_gmm::accumulate::{Total, accumulate_posteriors};
use kaldi_gmm::{FullGmmStats, Parts};
use kaldi_io::KaldiWriter;
use kaldi_io::RandomReader;
use kaldi_io::holder::{MatrixHolder, PosteriorHolder, VectorHolder};
use nnet3::gaussians::Counts;
use nnet3::messages;
use nnet3::tables::{self, Input};

/// Accumulate stats from posteriors and features for instantiating a full-covariance GMM.
///
/// As in Kaldi, the weight of a frame scales the posteriors of that frame and of all frames after it. The "likelihood" in the log is the sum of all
/// posteriors of the file, once for each frame.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: fgmm-global-acc-stats-post scp:post.scp 2048 scp:train.scp 1.acc\nSee also: fgmm-global-acc-stats"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// GMM parameters that will be updated: a subset of mvw.
    #[arg(long, default_value = "mvw")]
    update_flags: String,
    /// rspecifier for a vector of floats for each utterance, that's a per-frame weight.
    #[arg(long, default_value = "")]
    weights: String,
    posterior_rspecifier: String,
    number_of_components: usize,
    feature_rspecifier: String,
    stats_out: String,
}

/// The largest number of Gaussians that memory is taken for.
const MOST_GAUSSIANS: usize = 1 << 20;

pub fn run(options: Options) -> Result<u8> {
    let parts = Parts::parse(&options.update_flags)?;
    let num_gauss = options.number_of_components;
    if num_gauss == 0 || num_gauss > MOST_GAUSSIANS {
        bail!("{num_gauss}: expected a number of Gaussians from 1 to {MOST_GAUSSIANS}");
    }
    KaldiWriter::check(&options.stats_out)?;
    let mut features = RandomReader::<MatrixHolder>::open(&options.feature_rspecifier)?;
    let mut weights = tables::open_optional::<VectorHolder>(&options.weights)?;
    let (mut stats, mut total, mut counts) = (None, Total::default(), Counts::default());
    Input::<PosteriorHolder>::open(&options.posterior_rspecifier)?.for_each(|key, posterior| {
        let mut skip = |reason: String| {
            messages::warn(&reason);
            counts.failed += 1;
            Ok(())
        };
        let features = match features.get(key)? {
            None => return skip(format!("No features available for utterance {key}")),
            Some(features) if features.rows == 0 => return skip(tables::no_frames(key)),
            Some(features) => features,
        };
        if let Some(found) = features.not_finite() {
            return skip(format!("{key}: {found}"));
        }
        let weights = match frame_weights(&mut weights, key, features.rows)? {
            Ok(weights) => weights,
            Err(reason) => return skip(reason.sentence(key)),
        };
        let stats = stats.get_or_insert_with(|| FullGmmStats::new(num_gauss, features.cols, parts));
        if features.cols != stats.dim() {
            let (found, expected) = (features.cols, stats.dim());
            return skip(format!("{key}: features have dimension {found}, those before {expected}"));
        }
        match accumulate_posteriors(features, &posterior, weights, stats) {
            Ok(of_file) => {
                total.log_likelihood += of_file.log_likelihood;
                total.weight += of_file.weight;
                counts.done += 1;
                Ok(())
            }
            Err(error) => skip(format!("posterior information for utterance {key} has {error}")),
        }
    })?;
    features.close()?;
    weights.map_or(Ok(()), |table| table.close())?;
    finish(&counts, &total, stats.as_ref(), options.mode.binary, &options.stats_out)
}
