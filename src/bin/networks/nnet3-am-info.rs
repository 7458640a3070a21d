//! `nnet3-am-info`: prints the contents of an acoustic model.

use nnet3::json::{self, FormatOption};
use nnet3::models;
use std::io::Write;
/// Print some text information about an nnet3 neural network acoustic model, to standard output.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n nnet3-am-info 0.mdl\nSee also: nnet3-info, am-info")]
pub struct Options {
    #[command(flatten)]
    format: FormatOption,
    nnet: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let model = models::load_acoustic(&options.nnet)?;
    if options.format.is_json() {
        json::print(&json::acoustic(&model)?)?;
        return Ok(0);
    }
    kaldi_cli::StandardOutput::open()?.write_all(model.info(kaldi_cli::log::verbose() >= 2).as_bytes())?;
    Ok(0)
}
