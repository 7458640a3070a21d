//! `copy-tree`: copies a decision tree.

use kaldi_hmm::ContextDependency;
use kaldi_io::{read_object, write_object};
use nnet3::messages;
/// Copy decision tree (possibly changing binary/text format).
#[derive(clap::Parser)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    tree_in: String,
    tree_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let tree: ContextDependency = read_object(&options.tree_in)?;
    write_object(&options.tree_out, options.mode.binary, &tree)?;
    messages::log("Copied tree");
    Ok(0)
}
