//! `sum-lda-accs`: adds LDA statistics.

use crate::transforms::lda;
use anyhow::Result;

/// Sum stats obtained with acc-lda or nnet3-acc-lda-stats.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: sum-lda-accs lda.acc 1.acc 2.acc")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    stats_out: String,
    #[arg(value_name = "<stats-in1> <stats-in2> ...", required = true)]
    stats_in: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let sum = lda::read_stats(&options.stats_in)?;
    kaldi_io::write_object(&options.stats_out, options.mode.binary, &sum)?;
    Ok(0)
}
