//! `compute-eer`: the equal error rate of scores.

use anyhow::{Context, Result, bail};
use kaldi_cli::log::num;
use kaldi_io::text::format_g;
use kaldi_io::{KaldiReader, KaldiWriter};
use kaldi_speaker::eer::Scores;
use nnet3::messages;

/// Computes Equal Error Rate. Input is a series of lines, each with two fields. The first field must be a numeric score,
/// and the second either the string 'target' or 'nontarget'. The EER will be printed to the standard output.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compute-eer -")]
pub struct Options {
    scores_in: String,
}

pub fn run(options: Options) -> Result<u8> {
    let file = &options.scores_in;
    let mut reader = KaldiReader::open_raw(file)?;
    let (mut scores, mut lines) = (Scores::default(), 0);
    while let Some(line) = reader.read_line()? {
        lines += 1;
        scores.add_line(&line).with_context(|| format!("{file}, line {lines}"))?;
    }
    reader.finish()?;
    if lines == 0 {
        bail!("{file}: Empty input.");
    }
    let found = scores.equal_error_rate().with_context(|| file.clone())?;
    let percent = 100.0 * found.rate;
    messages::log(&format!(
        "Equal error rate is {}%, at threshold {}",
        num(percent),
        num(found.threshold.into())
    ));
    let mut out = KaldiWriter::create("-", false)?;
    out.write_str(&format_g(percent, 4))?;
    out.finish()?;
    Ok(0)
}
