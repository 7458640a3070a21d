//! `compute-cmvn-stats`: statistics for mean and variance normalisation.

use anyhow::{Context, Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_feat::cmvn::CmvnStats;
use kaldi_io::holder::{DoubleMatrixHolder, MatrixHolder, TokenVectorHolder, VectorHolder};
use kaldi_io::{DenseMatrix, RandomReader};
use nnet3::messages;
use nnet3::tables::{self, Input, Output};

/// Compute cepstral mean and variance normalization statistics.
///
/// To a table: per utterance, or per speaker with --spk2utt. To a file: of all utterances.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compute-cmvn-stats --spk2utt=ark:data/train/spk2utt scp:data/train/feats.scp \
    ark,scp:/foo/bar/cmvn.ark,data/train/cmvn.scp\n\
    See also: apply-cmvn, modify-cmvn-stats")]
pub struct Options {
    /// Rspecifier for speaker to utterance-list map
    #[arg(long, default_value = "")]
    spk2utt: String,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Rspecifier for a vector of floats for each utterance, that's a per-frame weight.
    #[arg(long, default_value = "")]
    weights: String,
    feats_rspecifier: String,
    #[arg(value_name = "(<stats-wspecifier>|<stats-wxfilename>)")]
    stats_out: String,
}

/// Adds utterances with their weights, if there are any.
struct Accumulator {
    weights: Option<RandomReader<VectorHolder>>,
    done: u64,
    failed: u64,
}

impl Accumulator {
    /// Adds to statistics, which are made for the first utterance that can be used. False if this one cannot.
    fn add(&mut self, key: &str, features: &DenseMatrix<f32>, stats: &mut Option<CmvnStats>) -> Result<bool> {
        if features.rows == 0 {
            return Ok(self.fail(&tables::no_frames(key)));
        }
        let weights = match &mut self.weights {
            None => None,
            Some(table) => match table.get(key)? {
                Some(weights) if weights.len() == features.rows => Some(weights.as_slice()),
                Some(weights) => {
                    let (found, frames) = (weights.len(), features.rows);
                    return Ok(self.fail(&format!(
                        "Weights for utterance {key} have wrong dimension {found} vs. {frames}"
                    )));
                }
                None => return Ok(self.fail(&format!("No weights available for utterance {key}"))),
            },
        };
        if let Some(found) = features.not_finite() {
            messages::warn(&format!("{key}: {found}"));
            self.failed += 1;
            return Ok(false);
        }
        stats.get_or_insert_with(|| CmvnStats::new(features.cols)).add(features, weights)?;
        self.done += 1;
        Ok(true)
    }

    fn fail(&mut self, message: &str) -> bool {
        messages::warn(message);
        self.failed += 1;
        false
    }
}

pub fn run(options: Options) -> Result<u8> {
    let weights = tables::open_optional(&options.weights)?;
    let mut accumulator = Accumulator { weights, done: 0, failed: 0 };
    let output = if !tables::is_output(&options.stats_out) {
        global(&options, &mut accumulator)?;
        None
    } else if options.spk2utt.is_empty() {
        Some(per_utterance(&options, &mut accumulator)?)
    } else {
        Some(per_speaker(&options, &mut accumulator)?)
    };
    let Accumulator { weights, done, failed } = accumulator;
    weights.map_or(Ok(()), RandomReader::close)?;
    messages::log(&format!("Done accumulating CMVN stats for {done} utterances; {failed} had errors."));
    match output {
        Some(output) => output.finish(),
        None => Ok(if done > 0 { 0 } else { NOTHING_DONE }),
    }
}

fn per_utterance(options: &Options, accumulator: &mut Accumulator) -> Result<Output<DoubleMatrixHolder>> {
    let input = Input::<MatrixHolder>::open(&options.feats_rspecifier)?;
    let mut output = Output::open(&options.stats_out)?;
    input.for_each(|key, features| {
        let mut stats = None;
        accumulator.add(key, &features, &mut stats)?;
        stats.map_or(Ok(()), |stats| output.write(key, &stats.to_matrix()))
    })?;
    Ok(output)
}

fn per_speaker(options: &Options, accumulator: &mut Accumulator) -> Result<Output<DoubleMatrixHolder>> {
    let input = Input::<TokenVectorHolder>::open(&options.spk2utt)?;
    let mut table = RandomReader::<MatrixHolder>::open(&options.feats_rspecifier)?;
    let mut output = Output::open(&options.stats_out)?;
    let mut found = false;
    input.for_each(|speaker, utterances| {
        let mut stats: Option<CmvnStats> = None;
        for utterance in &utterances {
            let Some(features) = table.get(utterance)? else {
                accumulator.fail(&format!(
                    "Did not find features for utterance {utterance} in {}",
                    options.feats_rspecifier
                ));
                continue;
            };
            found = true;
            accumulator.add(utterance, features, &mut stats).with_context(|| utterance.clone())?;
        }
        match stats {
            Some(stats) => output.write(speaker, &stats.to_matrix()),
            None => {
                messages::warn(&format!("No stats accumulated for speaker {speaker}"));
                Ok(())
            }
        }
    })?;
    table.close()?;
    if !found && accumulator.failed > 0 {
        let Options { spk2utt, feats_rspecifier, .. } = options;
        messages::warn(&format!(
            "no utterance of {spk2utt} is in {feats_rspecifier}: do both have the same keys?"
        ));
    }
    Ok(output)
}

fn global(options: &Options, accumulator: &mut Accumulator) -> Result<()> {
    if !options.spk2utt.is_empty() {
        let file = &options.stats_out;
        bail!("--spk2utt needs a table of statistics, found the file {file} (did you forget ark:?)");
    }
    kaldi_io::KaldiWriter::check(&options.stats_out)?;
    let mut stats: Option<CmvnStats> = None;
    Input::<MatrixHolder>::open(&options.feats_rspecifier)?.for_each(|key, features| {
        accumulator.add(key, &features, &mut stats)?;
        Ok(())
    })?;
    match stats.filter(|_| accumulator.done > 0) {
        Some(stats) => {
            let matrix = stats.to_matrix().convert::<f32>();
            kaldi_io::write_object(&options.stats_out, options.mode.binary, &matrix)?;
            messages::log(&format!("Wrote global CMVN stats to {}", options.stats_out));
        }
        None => messages::error(&format!(
            "{}: no utterance could be used, so there are no statistics",
            options.feats_rspecifier
        )),
    }
    Ok(())
}
