//! `copy-gselect`: copies lists of Gaussians, whole or their beginnings.

use anyhow::{Result, bail};
use kaldi_io::holder::I32VectorVectorHolder;
use nnet3::{messages, tables};

/// Copy Gaussian indices for pruning, possibly making the lists shorter (e.g. the --n=10 limits to the 10 best indices).
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: copy-gselect --n=10 ark:1.gselect ark:short.gselect\nSee also: gmm-gselect, fgmm-gselect"
)]
pub struct Options {
    /// Number of Gaussians to keep per frame (if nonzero)
    #[arg(long, default_value_t = 0)]
    n: i32,
    gselect_rspecifier: String,
    gselect_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let most = match usize::try_from(options.n) {
        Ok(0) => usize::MAX,
        Ok(n) => n,
        Err(_) => bail!("--n={}: expected a number that is not negative", options.n),
    };
    let (from, to) = (&options.gselect_rspecifier, &options.gselect_wspecifier);
    let output = tables::map::<I32VectorVectorHolder, I32VectorVectorHolder>(from, to, |_, mut lists| {
        lists.iter_mut().for_each(|list| list.truncate(most));
        Ok(Ok(lists))
    })?;
    match options.n {
        0 => messages::log(&format!("Copied {} gselect objects ", output.done)),
        n => messages::log(&format!("Copied {} gselect objects,  limiting sizes to {n}", output.done)),
    }
    output.finish()
}
