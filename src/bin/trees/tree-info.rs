//! `tree-info`: prints the sizes of a decision tree.

use kaldi_hmm::ContextDependency;
use kaldi_io::read_object;
use nnet3::json::{self, FormatOption};
use serde_json::json;
use std::io::Write;
/// Print information about decision tree (mainly the number of pdfs), to stdout.
#[derive(clap::Parser)]
pub struct Options {
    #[command(flatten)]
    format: FormatOption,
    tree_in: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let tree: ContextDependency = read_object(&options.tree_in)?;
    if options.format.is_json() {
        json::print(&json!({
            "num-pdfs": tree.num_pdfs(),
            "context-width": tree.context_width(),
            "central-position": tree.central_position(),
        }))?;
        return Ok(0);
    }
    let mut out = kaldi_cli::StandardOutput::open()?;
    writeln!(out, "num-pdfs {}", tree.num_pdfs())?;
    writeln!(out, "context-width {}", tree.context_width())?;
    writeln!(out, "central-position {}", tree.central_position())?;
    Ok(0)
}
