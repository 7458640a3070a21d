//! `compute-cmvn-stats-two-channel`: statistics of both sides of telephone conversations.

use anyhow::{Context, Result, bail};
use kaldi_feat::cmvn::{CmvnStats, add_two_channels};
use kaldi_io::holder::{DoubleMatrixHolder, MatrixHolder};
use kaldi_io::{KaldiReader, RandomReader};
use nnet3::tables::Output;
use nnet3::{messages, tables};
use std::collections::BTreeMap;

/// Compute cepstral mean and variance normalization statistics.
///
/// Specialized for two-sided telephone data where we only accumulate the louder of the two channels at each frame (and add
/// it to that side's stats). Reads a 'reco2file_and_channel' file with lines <utterance-id> <call-id> <side>, normally
/// like 'sw02001-A sw02001 A'. For each <call-id> that has two sides, does the 'only-the-louder' computation. Otherwise
/// does per-utterance stats in the normal way. Loudness is judged by the first feature component, either energy or c0.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compute-cmvn-stats-two-channel data/train_unseg/reco2file_and_channel \
    scp:data/train_unseg/feats.scp ark,t:-")]
pub struct Options {
    /// For the quieter channel, apply this weight to the stats, so that we still get stats if one channel always dominates.
    #[arg(long, default_value_t = 0.01)]
    quieter_channel_weight: f32,
    reco2file_and_channel: String,
    feats_rspecifier: String,
    stats_wspecifier: String,
}

/// Utterances by the calls that they are sides of.
fn read_calls(rxfilename: &str) -> Result<BTreeMap<String, Vec<String>>> {
    let mut reader = KaldiReader::open_raw(rxfilename)?;
    let mut calls = BTreeMap::<String, Vec<String>>::new();
    while let Some(line) = reader.read_line()? {
        match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
            [utterance, call, _] => calls.entry(call.to_owned()).or_default().push(utterance.to_owned()),
            _ => bail!("{rxfilename}: expected 'utterance call side', found '{line}'"),
        }
    }
    reader.close()?;
    Ok(calls)
}

pub fn run(options: Options) -> Result<u8> {
    let calls = read_calls(&options.reco2file_and_channel)?;
    let mut table = RandomReader::<MatrixHolder>::open(&options.feats_rspecifier)?;
    let mut output = Output::<DoubleMatrixHolder>::open(&options.stats_wspecifier)?;
    for (call, utterances) in &calls {
        if utterances.len() != 2 {
            let n = utterances.len();
            messages::warn(&format!("{call}: {n} utterances, expected two; treating them singly."));
        }
        let mut sides = Vec::new();
        for utterance in utterances {
            match table.get(utterance)? {
                Some(features) if features.rows == 0 => output.skip_as(&tables::no_frames(utterance)),
                Some(features) => sides.push((utterance, features.clone())),
                None => output.skip(utterance, format!("no features in {}", options.feats_rspecifier)),
            }
        }
        let mut stats: Vec<CmvnStats> = sides.iter().map(|(_, m)| CmvnStats::new(m.cols)).collect();
        match (&sides[..], &mut stats[..]) {
            ([(_, first), (_, second)], [a, b]) if utterances.len() == 2 => {
                let mut pair = [a.clone(), b.clone()];
                let together = add_two_channels([first, second], options.quieter_channel_weight, &mut pair)
                    .with_context(|| call.clone())?;
                if !together {
                    let (first, second) = (first.rows, second.rows);
                    messages::warn(&format!(
                        "{call}: its sides have {first} and {second} frames; treating them separately."
                    ));
                }
                [*a, *b] = pair;
            }
            (sides, stats) => {
                for ((_, features), stats) in sides.iter().zip(stats) {
                    stats.add(features, None)?;
                }
            }
        }
        for ((utterance, _), stats) in sides.iter().zip(&stats) {
            output.write(utterance, &stats.to_matrix())?;
        }
    }
    table.close()?;
    messages::log(&format!(
        "Done accumulating CMVN stats for {} utterances; {} had errors.",
        output.done, output.failed
    ));
    output.finish()
}
