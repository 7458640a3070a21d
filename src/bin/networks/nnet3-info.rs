//! `nnet3-info`: prints the contents of a network.

use nnet3::json::{self, FormatOption};
use nnet3::models;
use nnet3_core::graph::FrameContext;
use std::io::Write;
/// Print some text information about 'raw' nnet3 neural network, to standard output.
#[derive(clap::Parser)]
pub struct Options {
    #[command(flatten)]
    format: FormatOption,
    #[arg(value_name = "<raw-nnet>")]
    nnet: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let nnet = models::load(&options.nnet)?;
    if options.format.is_json() {
        json::print(&json::network(&nnet)?)?;
        return Ok(0);
    }
    kaldi_cli::StandardOutput::open()?.write_all(nnet.info(kaldi_cli::log::verbose() >= 2).as_bytes())?;
    Ok(0)
}
