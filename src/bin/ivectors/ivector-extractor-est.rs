//! `ivector-extractor-est`: re-estimates an extractor of i-vectors.

use anyhow::Result;
use kaldi_cli::log::num;
use kaldi_io::{read_object, write_object};
use kaldi_ivector::update::{Note, UpdateOptions, explained_variance, update};
use kaldi_ivector::{ExtractorStats, IvectorExtractor};
use nnet3::messages;
use nnet3::options::threads;

/// Do model re-estimation of iVector extractor (this is the update phase of a single pass of E-M).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ivector-extractor-est 0.ie 1.acc 1.ie\n\
    See also: ivector-extractor-acc-stats, ivector-extractor-sum-accs")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Number of threads used in update
    #[arg(long, default_value_t = 8)]
    num_threads: i32,
    /// Factor that determines variance flooring (we floor each covar to this times global average covariance)
    #[arg(long, default_value_t = 0.1)]
    variance_floor_factor: f64,
    /// Minimum total count per Gaussian, below which we refuse to update any associated parameters.
    #[arg(long, default_value_t = 100.0)]
    gaussian_min_count: f64,
    /// If true, diagonalize the quadratic term in the objective function. This reorders the ivector dimensions from most to
    /// least important.
    #[arg(long, default_value_t = true)]
    diagonalize: bool,
    model_in: String,
    stats_in: String,
    model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    messages::log("Reading model");
    let mut extractor: IvectorExtractor = read_object(&options.model_in)?;
    messages::log("Reading statistics");
    let stats: ExtractorStats = read_object(&options.stats_in)?;
    let limits = UpdateOptions {
        variance_floor_factor: options.variance_floor_factor,
        min_count: options.gaussian_min_count,
        diagonalize: options.diagonalize,
        threads: threads::number("num-threads", options.num_threads.into())?,
    };
    update(&mut extractor, &stats, &limits, &mut |note| match note {
        Note::Log(line) => messages::log(&line),
        Note::Warning(line) => messages::warn(&line),
    })?;
    write_object(&options.model_out, options.mode.binary, &extractor)?;
    messages::log(&format!(
        "The proportion of within-Gaussian variance explained by the iVectors is {}.",
        num(explained_variance(&extractor, &stats.counts))
    ));
    messages::log(&format!("Updated model and wrote it to {}", options.model_out));
    Ok(0)
}
