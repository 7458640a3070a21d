//! `fstequivalent`: compares two FSTs.

use anyhow::{Context, Result, bail};
use kaldi_fst::ops::{self, DELTA, RandomComparison};
use nnet3::fsts::{self, DIFFERENT};

/// Checks that two FSTs are equivalent. The status is 0 if they are, and 2 if not.
///
/// Without --random both must be deterministic acceptors without arcs without label.
#[derive(clap::Parser)]
pub struct Options {
    /// Comparison/quantization delta
    #[arg(long = "delta", default_value_t = DELTA)]
    delta: f32,
    /// Test equivalence by randomly selecting paths
    #[arg(long = "random", default_value_t = false)]
    random: bool,
    /// Maximum path length
    #[arg(long = "max_length", default_value_t = i32::MAX)]
    max_length: i32,
    /// Number of paths to generate
    #[arg(long = "npath", default_value_t = 1)]
    npath: i32,
    /// Random seed (if not given, another one each time)
    #[arg(long)]
    seed: Option<u64>,
    /// Selection type of paths: "uniform"
    #[arg(long = "select", default_value = "uniform")]
    select: String,
    fst_in1: String,
    fst_in2: String,
}

pub fn run(options: Options) -> Result<u8> {
    let [first, second] = [fsts::read(Some(&options.fst_in1))?, fsts::read(Some(&options.fst_in2))?];
    let equal = if options.random {
        let (Ok(paths), Ok(longest)) = (usize::try_from(options.npath), usize::try_from(options.max_length))
        else {
            bail!("--npath and --max_length must not be negative");
        };
        if options.select != "uniform" {
            bail!("--select must be uniform, found {}", options.select);
        }
        let seed = options.seed.unwrap_or_else(fsts::random_seed);
        let comparison = RandomComparison { paths, longest, delta: options.delta, seed };
        ops::randomly_equivalent(&first, &second, comparison)?
    } else {
        ops::equivalent(&first, &second, options.delta)
            .context("expected deterministic acceptors (see fstdeterminize)")?
    };
    Ok(if equal { 0 } else { DIFFERENT })
}
