//! `agglomerative-cluster`: clusters the segments of recordings by speaker.

use anyhow::{Context, Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_io::RandomReader;
use kaldi_io::holder::{I32Holder, MatrixHolder, TokenVectorHolder};
use kaldi_speaker::cluster::{ClusterOptions, cluster};
use nnet3::tables::{self, Input, Output};

/// Cluster utterances by similarity score, used in diarization. Takes a table of score matrices indexed by recording, and a
/// reco2utt file that maps recordings to utterances. Rows and columns are the utterances of the recording in sorted order.
/// Outputs a list of labels in the form `<utt> <label>`.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: agglomerative-cluster ark:scores.ark ark:reco2utt ark,t:labels.txt\n\
    See also: ivector-plda-scoring-dense")]
pub struct Options {
    /// If supplied, clustering creates exactly this many clusters for each recording and the option --threshold is ignored.
    #[arg(long, default_value = "")]
    reco2num_spk_rspecifier: String,
    /// Merge clusters if their average score is above this threshold (or, with --read-costs, their cost below it).
    #[arg(long, default_value_t = 0.0)]
    threshold: f32,
    /// If true, the first argument is interpreted as a matrix of costs rather than scores.
    #[arg(long, default_value_t = false)]
    read_costs: bool,
    /// Merge clusters if the total fraction of utterances in them is less than this threshold. This is active only with
    /// --reco2num-spk-rspecifier and 1.0 / num-spk <= max-spk-fraction <= 1.0.
    #[arg(long, default_value_t = 1.0)]
    max_spk_fraction: f32,
    /// If the number of utterances is larger than first-pass-max-utterances, then clustering is done in two passes.
    #[arg(long, default_value_t = 32767)]
    first_pass_max_utterances: i32,
    scores_rspecifier: String,
    reco2utt_rspecifier: String,
    labels_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let first_pass_max = match usize::try_from(options.first_pass_max_utterances) {
        Ok(count @ 2..) => count,
        _ => bail!("--first-pass-max-utterances={}: expected at least 2", options.first_pass_max_utterances),
    };
    if options.threshold.is_nan() || options.max_spk_fraction.is_nan() {
        bail!("--threshold and --max-spk-fraction must be numbers");
    }
    let input = Input::<MatrixHolder>::open(&options.scores_rspecifier)?;
    let mut reco2utt = RandomReader::<TokenVectorHolder>::open(&options.reco2utt_rspecifier)?;
    let mut speakers = tables::open_optional::<I32Holder>(&options.reco2num_spk_rspecifier)?;
    let mut output = Output::<I32Holder>::open(&options.labels_wspecifier)?;
    input.for_each(|recording, mut costs| {
        let missing = |table: &str| format!("no such key in {table}");
        let utterances = reco2utt.get(recording)?.with_context(|| missing(&options.reco2utt_rspecifier))?;
        let (rows, found) = (costs.rows, utterances.len());
        if rows == 0 || rows != found {
            output.skip(recording, format!("{found} utterances, but scores of {rows}"));
            return Ok(());
        }
        let sign = if options.read_costs { 1.0 } else { -1.0 };
        costs.data.iter_mut().for_each(|x| *x *= sign);
        let mut cluster_options = ClusterOptions {
            threshold: sign * options.threshold,
            min_clusters: 1,
            max_size: rows,
            first_pass_max,
        };
        if let Some(speakers) = &mut speakers {
            let count =
                speakers.get(recording)?.with_context(|| missing(&options.reco2num_spk_rspecifier))?;
            let Some(count) = usize::try_from(*count).ok().filter(|&count| count > 0) else {
                bail!("{count} speakers, expected at least 1");
            };
            cluster_options.threshold = f32::MAX;
            cluster_options.min_clusters = count;
            let fraction = options.max_spk_fraction;
            if (1.0 / count as f32..=1.0).contains(&fraction) {
                cluster_options.max_size = (rows as f32 * fraction).ceil() as usize;
            }
        }
        match cluster(&costs, &cluster_options) {
            Ok(labels) => utterances
                .iter()
                .zip(labels)
                .try_for_each(|(utterance, label)| output.write(utterance, &i32::try_from(label)?)),
            Err(reason) => {
                output.skip(recording, reason);
                Ok(())
            }
        }
    })?;
    reco2utt.close()?;
    speakers.map_or(Ok(()), RandomReader::close)?;
    let nothing_usable = output.done == 0 && output.failed > 0;
    if nothing_usable { output.finish_or(NOTHING_DONE) } else { output.finish_any() }
}
