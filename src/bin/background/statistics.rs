//! Statistics of utterances, and sums of statistics.

use anyhow::{Context, Result};
use kaldi_cli::NOTHING_DONE;
use kaldi_cli::log::{num, ratio};
use kaldi_gmm::Parts;
use kaldi_gmm::accumulate::{Frames, Total, accumulate};
use kaldi_gmm::stats::{GmmStats, Kind};
use kaldi_io::holder::MatrixHolder;
use kaldi_io::{KaldiObject, KaldiWriter, read_object, write_object};
use nnet3::gaussians::Counts;
use nnet3::{messages, tables};

use crate::background::mixture::{Mixture, read_scorer};
use crate::background::utterances::{self, Sources};

// Options of programs that collect statistics.
#[derive(clap::Args)]
pub struct StatisticsOptions {
    #[command(flatten)]
    pub mode: nnet3::options::OutputMode,
    /// GMM parameters that will be updated: a subset of mvw.
    #[arg(long, default_value = "mvw")]
    pub update_flags: String,
    /// rspecifier for gselect objects to limit the #Gaussians accessed on each frame.
    #[arg(long, default_value = "")]
    pub gselect: String,
    /// rspecifier for a vector of floats for each utterance, that's a per-frame weight.
    #[arg(long, default_value = "")]
    pub weights: String,
}

/// Collects statistics of features, by the posteriors of a mixture at these features. If there is a table of second
/// features, posteriors are those of the first and statistics those of the second.
pub fn collect<M: Mixture>(
    options: &StatisticsOptions,
    model: &str,
    features: &str,
    second: Option<&str>,
    stats_out: &str,
) -> Result<u8>
where
    GmmStats<M::Kind>: KaldiObject,
{
    let parts = Parts::parse(&options.update_flags)?;
    let scorer = read_scorer::<M>(model)?;
    KaldiWriter::check(stats_out)?;
    let mut seconds = tables::open_optional::<MatrixHolder>(second.unwrap_or_default())?;
    let new = |dim| GmmStats::<M::Kind>::new(scorer.num_gauss(), dim, parts);
    let mut stats = second.is_none().then(|| new(scorer.dim()));
    let mut total = Total::default();
    let sources =
        Sources { features, lists: &options.gselect, weights: &options.weights, ..Sources::default() };
    let counts = utterances::for_each(&sources, &scorer, |utterance| {
        let (key, rows) = (utterance.key, utterance.features.rows);
        let added = match &mut seconds {
            None => utterance.features,
            Some(table) => match table.get(key)? {
                None => return tables::skip_as(format!("For utterance {key}, second features not present.")),
                Some(added) if added.rows != rows => {
                    let found = added.rows;
                    return tables::skip(format!(
                        "the first features have {rows} frames, the second {found}"
                    ));
                }
                Some(added) => match added.not_finite() {
                    Some(found) => return tables::skip(format!("second features: {found}")),
                    None => added,
                },
            },
        };
        let stats = stats.get_or_insert_with(|| new(added.cols));
        if added.cols != stats.dim() {
            let (found, expected) = (added.cols, stats.dim());
            return tables::skip(format!("second features have dimension {found}, those before {expected}"));
        }
        let frames = Frames {
            features: utterance.features,
            added,
            lists: utterance.lists.as_deref(),
            weights: utterance.weights,
        };
        let of_file = accumulate(&scorer, frames, stats)?;
        total.log_likelihood += of_file.log_likelihood;
        total.weight += of_file.weight;
        Ok(Ok(()))
    })?;
    seconds.map_or(Ok(()), |table| table.close())?;
    finish(&counts, &total, stats.as_ref(), options.mode.binary, stats_out)
}

/// Logs results and writes statistics.
pub fn finish<K: Kind>(
    counts: &Counts,
    total: &Total,
    stats: Option<&GmmStats<K>>,
    binary: bool,
    stats_out: &str,
) -> Result<u8>
where
    GmmStats<K>: KaldiObject,
{
    messages::log(&format!("Done {} files; {} with errors.", counts.done, counts.missing + counts.failed));
    messages::log(&format!(
        "Overall likelihood per frame = {} over {} (weighted) frames.",
        ratio(total.log_likelihood, total.weight),
        num(total.weight)
    ));
    let Some(stats) = stats else {
        messages::error(&format!("{stats_out}: no utterance could be used, so the dimension is not known"));
        return Ok(NOTHING_DONE);
    };
    write_object(stats_out, binary, stats)?;
    messages::log(&format!("Written accs to {stats_out}"));
    Ok(counts.status())
}

/// Adds up files of statistics.
pub fn sum<K: Kind>(stats_in: &[String], binary: bool, stats_out: &str) -> Result<u8>
where
    GmmStats<K>: KaldiObject,
{
    let mut sum: GmmStats<K> = read_object(&stats_in[0])?;
    for file in &stats_in[1..] {
        sum.merge(&read_object(file)?).with_context(|| {
            format!("MlEstimatediagGmm::Read, dimension or flags mismatch, {file} against {}", stats_in[0])
        })?;
    }
    write_object(stats_out, binary, &sum)?;
    messages::log(&format!("Written stats to {stats_out}"));
    Ok(0)
}
