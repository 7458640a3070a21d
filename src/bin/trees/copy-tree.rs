//! `copy-tree`: copies a decision tree.

use kaldi_hmm::ContextDependency;
use kaldi_io::{read_object, write_object};
use nnet3::messages;
/// Copy decision tree (possibly changing binary/text format).
#[derive(clap::Parser)]
pub struct Options {
    /// Write output in binary mode
    #[arg(long, default_value_t = true)]
    binary: bool,
    tree_in: String,
    tree_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let tree: ContextDependency = read_object(&options.tree_in)?;
    write_object(&options.tree_out, options.binary, &tree)?;
    messages::log("Copied tree");
    Ok(0)
}
