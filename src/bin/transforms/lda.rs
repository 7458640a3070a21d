//! Parts shared by the programs that estimate transforms from statistics of classes.

use anyhow::{Context, Result, bail};
use kaldi_cli::log::num;
use kaldi_feat::lda::LdaStats;
use kaldi_feat::lda_estimate::Directions;
use kaldi_io::read_object;

use nnet3::messages;

/// The sum of the statistics in several files.
pub fn read_stats(rxfilenames: &[String]) -> Result<LdaStats> {
    let mut sum = LdaStats::default();
    for name in rxfilenames {
        sum.merge(read_object(name)?).with_context(|| name.clone())?;
    }
    Ok(sum)
}

/// Writes statistics of `count` examples of a table, unless `count` is 0.
pub fn write_stats(stats: &LdaStats, table: &str, count: u64, file: &str, binary: bool) -> Result<()> {
    messages::log(&format!("Processed {count} examples."));
    if stats.count() == 0.0 {
        bail!("{table}: no statistics: expected examples with targets whose weights are not zero");
    }
    kaldi_io::write_object(file, binary, stats)?;
    let frames = num(stats.count());
    messages::log(&format!("Accumulated stats, soft frame count = {frames}.  Wrote to {file}"));
    Ok(())
}

/// Returns the directions that tell classes apart, and logs them. `dim` is the number of directions to use.
pub fn directions(stats: &LdaStats, dim: usize) -> Result<Directions> {
    let directions = Directions::new(stats)?;
    if let Some(smoothing) = directions.smoothing {
        messages::log(&format!(
            "Cholesky failed (possibly not +ve definite), so adding {} to diagonal and trying again.",
            num(smoothing)
        ));
    }
    let variances = &directions.variances;
    let list: Vec<String> = variances.iter().map(|&d| num(d)).collect();
    messages::log(&format!("Data count is {}", num(directions.count)));
    messages::log(&format!("LDA singular values are  [ {} ]", list.join(" ")));
    messages::log(&format!("Sum of all singular values is {}", num(variances.iter().sum())));
    let selected = variances.iter().take(dim).sum();
    messages::log(&format!("Sum of selected singular values is {}", num(selected)));
    Ok(directions)
}

/// Refuses a negative `--rand-prune`, which would silently prune no entries.
pub fn check_rand_prune(threshold: f32) -> Result<()> {
    if threshold < 0.0 || !threshold.is_finite() {
        bail!("--rand-prune={threshold}: expected a number that is not negative");
    }
    Ok(())
}
