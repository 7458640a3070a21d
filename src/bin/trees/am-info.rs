//! `am-info`: prints the sizes of a transition model.

use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use nnet3::json::{self, FormatOption};
use serde_json::json;
use std::io::Write;
/// Write to standard output various properties of a model, of any type (reads only the transition model).
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n am-info 1.mdl")]
pub struct Options {
    #[command(flatten)]
    format: FormatOption,
    model_in: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let model: TransitionModel = read_object(&options.model_in)?;
    if options.format.is_json() {
        json::print(&json!({
            "num-phones": model.topology().phones().len(),
            "num-pdfs": model.num_pdfs(),
            "num-transition-ids": model.num_transition_ids(),
            "num-transition-states": model.states().len(),
        }))?;
        return Ok(0);
    }
    let mut out = kaldi_cli::StandardOutput::open()?;
    writeln!(out, "number of phones {}", model.topology().phones().len())?;
    writeln!(out, "number of pdfs {}", model.num_pdfs())?;
    writeln!(out, "number of transition-ids {}", model.num_transition_ids())?;
    writeln!(out, "number of transition-states {}", model.states().len())?;
    Ok(0)
}
