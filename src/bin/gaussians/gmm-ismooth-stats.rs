//! `gmm-ismooth-stats`: smooths statistics with other statistics or with a model.

use anyhow::{Context, Result};
use kaldi_cli::log::num;
use kaldi_gmm::ModelStats;
use kaldi_io::{read_object, write_object};
use nnet3::{gaussians, messages};

/// Apply I-smoothing to statistics, e.g. for discriminative training.
///
/// Each Gaussian gets --tau additional frames with the averages of the source.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: gmm-ismooth-stats --tau=100 ml.acc num.acc smoothed.acc\n\
    or: gmm-ismooth-stats --tau=50 --smooth-from-model=true 1.mdl num.acc smoothed.acc")]
pub struct Options {
    /// Write output in binary mode
    #[arg(long, default_value_t = false)]
    binary: bool,
    /// If true, expect first argument to be a model file
    #[arg(long, default_value_t = false)]
    smooth_from_model: bool,
    /// Tau value for I-smoothing
    #[arg(long, default_value_t = 100.0)]
    tau: f64,
    #[arg(value_name = "[<smoothing-stats-in>|<model-in>]")]
    source: String,
    stats_in: String,
    stats_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { source, tau, .. } = &options;
    let mut stats: ModelStats = read_object(&options.stats_in)?;
    let before = stats.total();
    if options.smooth_from_model {
        let (_, model) = gaussians::read_model(source)?;
        stats.smooth_with_model(&model, *tau).with_context(|| source.clone())?;
    } else {
        // A pipe or standard input must not be read twice.
        let other = if *source == options.stats_in { stats.clone() } else { read_object(source)? };
        stats.smooth_with_stats(&other, *tau).with_context(|| source.clone())?;
    }
    write_object(&options.stats_out, options.binary, &stats)?;
    messages::log(&format!(
        "Smoothed stats with tau = {}, count changed from {} to {}",
        num(*tau),
        num(before),
        num(stats.total())
    ));
    Ok(0)
}
