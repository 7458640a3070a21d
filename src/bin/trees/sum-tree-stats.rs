//! `sum-tree-stats`: adds up statistics for trees.

use anyhow::Context;
use kaldi_cli::NOTHING_DONE;
use kaldi_io::{read_object, write_object};
use kaldi_tree::Gauss;
use kaldi_tree::stats::Sum;
use nnet3::messages;
/// Sum statistics for phonetic-context tree building.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n sum-tree-stats treeacc 1.treeacc 2.treeacc 3.treeacc")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    tree_accs_out: String,
    #[arg(value_name = "<tree-accs-in1> <tree-accs-in2> ...", num_args = 1.., required = true)]
    tree_accs_in: Vec<String>,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let mut sum = Sum::<Gauss>::new();
    for file in &options.tree_accs_in {
        sum.add(read_object(file)?).with_context(|| file.clone())?;
    }
    let stats = sum.finish();
    if stats.entries.is_empty() {
        messages::error(&format!("{}: there are no statistics to write", options.tree_accs_out));
        return Ok(NOTHING_DONE);
    }
    write_object(&options.tree_accs_out, options.mode.binary, &stats)?;
    messages::log(&format!("Wrote summed accs ( {} individual stats)", stats.entries.len()));
    Ok(0)
}
