//! `fstrandgen`: random paths of an FST.

use anyhow::{Result, bail};
use kaldi_fst::random_paths::{Choice, random_paths};
use nnet3::fsts::{self, WithSymbols};

/// Generates random paths through an FST.
///
/// The paths of the result have no costs; each has states of its own.
#[derive(clap::Parser)]
pub struct Options {
    /// Maximum path length
    #[arg(long = "max_length", default_value_t = i32::MAX)]
    max_length: i32,
    /// Number of paths to generate
    #[arg(long, default_value_t = 1)]
    npath: i32,
    /// Random seed (if not given, another one each time)
    #[arg(long)]
    seed: Option<u64>,
    /// Selection type: one of "uniform", "log_prob" (the costs are negated logarithms of probabilities)
    #[arg(long, default_value = "uniform")]
    select: String,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let choice = match options.select.as_str() {
        "uniform" => Choice::Uniform,
        "log_prob" | "fast_log_prob" => Choice::Probability,
        other => bail!("Unknown selection type: {other}; expected uniform, log_prob or fast_log_prob"),
    };
    let (Ok(count), Ok(most)) = (usize::try_from(options.npath), usize::try_from(options.max_length)) else {
        bail!("--npath and --max_length must not be negative");
    };
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    let seed = options.seed.unwrap_or_else(fsts::random_seed);
    file.fst = random_paths(&file.fst, count, most, choice, seed);
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
