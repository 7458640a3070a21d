//! `fstshortestpath`: the cheapest paths of an FST.

use anyhow::{Result, bail};
use kaldi_fst::ops;
use nnet3::fsts::{self, WithSymbols};

/// Finds the shortest path(s) in an FST.
#[derive(clap::Parser)]
pub struct Options {
    /// Return N-shortest paths
    #[arg(long = "nshortest", default_value_t = 1)]
    nshortest: i64,
    /// Return unique strings: of several paths with one string the cheapest. Acceptors only
    #[arg(long = "unique", default_value_t = false)]
    unique: bool,
    /// Weight threshold: paths that cost more than the cheapest one and this are left out (empty: none)
    #[arg(long = "weight", default_value = "")]
    weight: String,
    /// Comparison/quantization delta. It has no effect: distances are exact
    #[arg(long = "delta", default_value_t = 1e-6)]
    delta: f32,
    /// State number threshold. Only -1 (none)
    #[arg(long = "nstate", default_value_t = -1)]
    nstate: i64,
    /// Queue type: "auto", "fifo", "lifo", "shortest", "state" or "top". It has no effect on the result
    #[arg(long = "queue_type", default_value = "auto")]
    queue_type: String,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let Ok(count) = usize::try_from(options.nshortest) else {
        bail!("--nshortest must not be negative, found {}", options.nshortest);
    };
    fsts::check_search(&options.queue_type, options.nstate)?;
    let mut file = WithSymbols::read_tropical(options.fst_in.as_deref())?;
    let beam = fsts::threshold(&options.weight)?;
    let paths = match options.unique {
        true => ops::unique_shortest_paths(&file.fst, count, beam)?,
        false => ops::shortest_paths(&file.fst, count, beam)?,
    };
    file.fst = ops::union_of_paths(&paths);
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
