//! `est-mllt`: estimates a maximum-likelihood linear transform from statistics.

use anyhow::{Context, Result};
use kaldi_cli::log::num;
use kaldi_gmm::mllt::MlltStats;
use kaldi_io::{read_object, write_object};
use nnet3::messages;

/// Do update for MLLT (also known as STC)
///
/// Note: use compose-transforms <mllt-matrix> <previous-matrix> to combine with previous MLLT or LDA transform, if any.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: est-mllt 2.mat 1a.macc 1b.macc ...\nSee also: gmm-acc-mllt, gmm-transform-means"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    mllt_mat_out: String,
    #[arg(value_name = "<stats-in1> <stats-in2> ...", num_args = 1.., required = true)]
    stats_in: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let files = &options.stats_in;
    let mut stats: MlltStats = read_object(&files[0])?;
    for file in &files[1..] {
        let other: MlltStats = read_object(file)?;
        stats.merge(&other).with_context(|| file.clone())?;
    }
    let (count, dim) = (stats.count(), stats.dim() as f64);
    if count < 10.0 * dim {
        let what = if count > 2.0 * dim { "very small count" } else { "insufficient count" };
        messages::warn(&format!("Mllt:Update, {what} {}", num(count)));
    }
    let estimate = stats.estimate(&mut |iteration, improvement| {
        messages::log(&format!(
            "MLLT objective improvement per frame by {iteration}'th iteration is {} per frame over {} frames.",
            num(improvement),
            num(count)
        ));
    });
    let estimate = estimate.with_context(|| files.join(", "))?;
    messages::log(&format!(
        "Overall objective function improvement for MLLT is {} over {} frames, logdet is {}",
        num(estimate.improvement),
        num(count),
        num(estimate.log_determinant)
    ));
    write_object(&options.mllt_mat_out, options.mode.binary, &estimate.matrix)?;
    Ok(0)
}
