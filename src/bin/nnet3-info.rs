//! Prints what a network is.

use nnet3::json::{self, FormatOption};
use nnet3::models;
use std::io::Write;
use std::process::ExitCode;

/// Print some text information about 'raw' nnet3 neural network, to standard output.
#[derive(clap::Parser)]
struct Options {
    #[command(flatten)]
    format: FormatOption,
    #[arg(value_name = "<raw-nnet>")]
    nnet: String,
}

fn info(options: Options) -> anyhow::Result<u8> {
    let nnet = models::load(&options.nnet)?;
    if options.format.is_json() {
        json::print(&json::network(&nnet)?)?;
        return Ok(0);
    }
    kaldi_io::StandardOutput::open()?.write_all(nnet.info(kaldi_io::log::verbose() >= 2).as_bytes())?;
    Ok(0)
}

pub fn main() -> ExitCode {
    kaldi_io::cli::run(info)
}
