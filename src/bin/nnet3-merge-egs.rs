//! `nnet3-merge-egs`: examples → minibatches.

use std::process::ExitCode;

use anyhow::Result;
use kaldi_io::log::sites::{MERGE_AGGREGATE, MERGE_SPECIFIC, MERGE_SPECIFIC_FORMAT};
use kaldi_io::{TableWriter, kaldi_log, log::Site};
use nnet3::examples;
use nnet3::options::egs::MergeOptions;
use nnet3_train::merge::FORMAT_LINE;
use nnet3_train::{ExampleHolder, ExampleReader};

const SITE: Site = Site::main("nnet3-merge-egs.cc", 80);

/// This copies nnet training examples from input to output, but while doing so it merges many examples into one, forming
/// a minibatch consisting of a single example.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.\n\
    nnet3-merge-egs --minibatch-size=512 ark:1.egs ark:- | nnet3-train ... \n\
    See also nnet3-copy-egs")]
struct Options {
    #[command(flatten)]
    merging: MergeOptions,
    egs_in: String,
    egs_out: String,
}

fn run(options: Options) -> Result<u8> {
    let mut merger = options.merging.merger()?;
    let mut egs = ExampleReader::open(&options.egs_in)?;
    if egs.at_end()? {
        return examples::nothing(&SITE, egs);
    }
    let mut writer = TableWriter::<ExampleHolder>::open(&options.egs_out)?;
    while let Some((_, example)) = egs.next()? {
        if let Some((key, minibatch)) = merger.push(example).map_err(|e| egs.blame(e))? {
            writer.write(&key, &minibatch)?;
        }
    }
    egs.close()?;
    for (key, minibatch) in merger.finish()? {
        writer.write(&key, &minibatch)?;
    }
    writer.close()?;
    kaldi_log!(MERGE_SPECIFIC_FORMAT, "{FORMAT_LINE}");
    kaldi_log!(MERGE_SPECIFIC, "{}", merger.specific_line());
    kaldi_log!(MERGE_AGGREGATE, "{}", merger.aggregate_line());
    Ok(u8::from(merger.written() == 0))
}

fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
