//! `gmm-sum-accs`: adds up statistics for training Gaussians.

use anyhow::Result;
use kaldi_cli::log::{num, ratio};
use kaldi_gmm::ModelStats;
use kaldi_io::{read_object, read_object_by, write_object};
use nnet3::messages;

/// Sum multiple accumulated stats files for GMM training.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n gmm-sum-accs 1.acc 1.1.acc 1.2.acc")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    stats_out: String,
    #[arg(value_name = "<stats-in1> <stats-in2> ...", num_args = 1.., required = true)]
    stats_in: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut sum: ModelStats = read_object(&options.stats_in[0])?;
    for file in &options.stats_in[1..] {
        read_object_by::<ModelStats, _>(file, |r| sum.add_from(r))?;
    }
    write_object(&options.stats_out, options.mode.binary, &sum)?;
    messages::log(&format!(
        "Summed {} stats, total count {}, avg like/frame {}",
        options.stats_in.len(),
        num(sum.frames),
        ratio(sum.log_likelihood, sum.frames)
    ));
    messages::log(&format!("Total count of stats is {}", num(sum.total())));
    messages::log(&format!("Written stats to {}", options.stats_out));
    Ok(0)
}
