//! `ivector-extractor-sum-accs`: adds up statistics for training an extractor of i-vectors.

use anyhow::{Result, bail};
use kaldi_io::{KaldiReader, write_object};
use kaldi_ivector::ExtractorStats;
use nnet3::messages;

/// Sum accumulators for training of iVector extractor. The last argument is the output.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ivector-extractor-sum-accs 1.acc 2.acc 3.acc sum.acc\n\
    See also: ivector-extractor-acc-stats, ivector-extractor-est")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// If true, the program makes sure to open all filehandles before reading for any (useful when summing accs from long
    /// processes)
    #[arg(long, default_value_t = false)]
    parallel: bool,
    #[arg(value_name = "<stats-in1> <stats-in2> ... <stats-out>", required = true, num_args = 2..)]
    files: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let [inputs @ .., output] = &options.files[..] else {
        bail!("expected at least one file of statistics and an output")
    };
    // Opening a pipe starts its command.
    let ahead = if options.parallel { inputs.len() } else { 0 };
    let mut open = Vec::new();
    for name in &inputs[..ahead] {
        open.push(KaldiReader::open_raw(name)?);
    }
    let mut open = open.into_iter();
    let mut sum = ExtractorStats::default();
    for name in inputs {
        messages::log(&format!("Reading stats from {name}"));
        let mut reader = open.next().map_or_else(|| KaldiReader::open_raw(name), Ok)?;
        reader.detect_header()?;
        sum.read_and_add(&mut reader)?;
        reader.finish()?;
    }
    write_object(output, options.mode.binary, &sum)?;
    messages::log(&format!("Wrote summed stats to {output}"));
    Ok(0)
}
