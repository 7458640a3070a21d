//! `nnet3-subset-egs`: a random subset of examples.

use std::process::ExitCode;

use anyhow::{Result, bail};
use kaldi_io::log::Site;
use kaldi_io::{TableWriter, kaldi_log};
use nnet3::examples;
use nnet3_train::subset::Subset;
use nnet3_train::{CRand, ExampleHolder, ExampleReader};

const SITE: Site = Site::main("nnet3-subset-egs.cc", 94);

/// Creates a random subset of the input examples, of a specified size.
///
/// Uses no more memory than the size of the subset.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-subset-egs [args] ark:degs.1.arks ark:subset.egs")]
struct Options {
    /// Seed for random number generator
    #[arg(long, default_value_t = 0)]
    srand: i32,
    /// Number of training examples in output
    #[arg(long, default_value_t = 1000)]
    n: i32,
    /// If true, randomize the order of the output
    #[arg(long, default_value_t = true)]
    randomize_order: bool,
    egs_in: String,
    egs_out: String,
}

fn run(options: Options) -> Result<u8> {
    let Ok(wanted) = usize::try_from(options.n) else {
        bail!("--n={}: expected a number that is not negative", options.n);
    };
    let mut egs = ExampleReader::open(&options.egs_in)?;
    if egs.at_end()? {
        return examples::nothing(&SITE, egs);
    }
    let mut subset = Subset::new(wanted, CRand::new(options.srand));
    while let Some(item) = egs.next()? {
        subset.offer(item);
    }
    egs.close()?;
    let read = subset.offered();
    let kept = subset.finish(options.randomize_order);
    let mut writer = TableWriter::<ExampleHolder>::open(&options.egs_out)?;
    for (key, example) in &kept {
        writer.write(key, example)?;
    }
    writer.close()?;
    kaldi_log!(SITE, "Selected a subset of {} out of {read} neural-network training examples ", kept.len());
    Ok(0)
}

fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
